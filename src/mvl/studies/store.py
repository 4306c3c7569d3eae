"""What the store holds of a experiment: finished seeds, unfinished runs, and how long they took."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mvl.errors import DamagedError, MvlError, UsageError
from mvl.experiment import Experiment
from mvl.learn.checkpoint import step_of
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import Description, RunFolder
from mvl.studies.job import Job, folder_of, is_run_of, seed_range

SET_ASIDE = re.compile(r"\.damaged(-\d+)?$")
"""How the names of damaged runs end after they were set aside."""


@dataclass(frozen=True)
class Seed:
    """One finished seed: its success, the mean of the last evaluations, and where it came from."""

    number: int
    overall: float
    tasks: tuple[float, ...]
    validation: dict[str, float]
    """Losses on validation data at the last evaluation."""
    run: Path
    data: str
    """SHA-256 of the file it was trained on."""


@dataclass(frozen=True)
class Held:
    """What is there of a experiment."""

    finished: dict[int, Seed]
    unfinished: list[Job]
    others: list[Path]
    """Runs in its folder that are not of it: trained with other settings."""
    damaged: dict[Path, str]
    """Runs in its folder that cannot be used, each with the reason."""


def runs_in(folder: Path) -> list[Path]:
    """Run folders, without those that were set aside as damaged."""
    runs = [file.parent for file in sorted(folder.glob("*/run.json"))]
    return [run for run in runs if not SET_ASIDE.search(run.name)]


def held(experiment: Experiment, store: Path, data: Path | None, records: Path | None = None) -> Held:
    """Every run in the experiment's folder counts, whoever made it; a seed that is there twice counts once.

    Runs of `records` count if the store has none of the same name.
    """
    there = Held({}, [], [], {})
    for run in _runs(experiment, store, records):
        try:
            description = RunFolder.open(run)[1]
            if not is_run_of(experiment, description):
                there.others.append(run)
            elif found := _finished(run, experiment, description):
                for seed in found:
                    there.finished.setdefault(seed.number, seed)
            else:
                there.unfinished.append(Job(with_seeds(experiment, description.experiment.seeds, data), run))
        except DamagedError as error:
            there.damaged[run] = str(error)
        except UsageError:  # made of parts or settings that this installation does not have
            there.others.append(run)
    return there


def _finished(run: Path, experiment: Experiment, description: Description) -> list[Seed]:
    """The seeds of a run of the experiment, none if it is not finished."""
    schedule, seeds = experiment.schedule, description.experiment.seeds
    saved, rows = _saved_step(run), _evaluations(run)
    if lost := metrics.missing(rows, metrics.due(saved or 0, schedule.eval_every, schedule.steps), seeds):
        file = RunFolder(run).evaluations_file  # resuming goes on after the checkpoint, so it would never be repeated
        raise DamagedError(f"{file}: the evaluation at step {lost[0]} is missing, though the checkpoint is from step {saved}.")
    if not _is_done(saved, rows, schedule.steps, seeds):
        return []
    last = {row["seed"]: row for row in rows}
    losses = lambda seed: {name: value for name, value in last[seed].items() if name.startswith("validation/")}
    sha = str(description.data.get("sha256"))
    try:
        means = reported(rows)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{RunFolder(run).evaluations_file}: a row is not an evaluation ({error!r}).") from None
    return [Seed(seed, found["overall"], tuple(found["tasks"]), losses(seed), run, sha) for seed, found in means.items()]


def _runs(experiment: Experiment, store: Path, records: Path | None) -> list[Path]:
    places = [folder_of(experiment, place) for place in (records, store) if place]
    by_name = {run.name: run for place in places for run in runs_in(place)}
    return [by_name[name] for name in sorted(by_name)]


def remaining(
    experiment: Experiment, seeds: list[int], store: Path, data: Path | None, together: bool, records: Path | None = None
) -> list[Job]:
    """The jobs that are left: unfinished runs that have one of the seeds, and new ones for the seeds in none."""
    there = held(experiment, store, data, records)
    missing = [seed for seed in seeds if seed not in there.finished]
    jobs = []
    for job in there.unfinished:
        if set(job.experiment.seeds) & set(missing):
            jobs.append(job)
            missing = [seed for seed in missing if seed not in job.experiment.seeds]
    for group in _groups(missing) if together else [(seed,) for seed in missing]:
        run = folder_of(experiment, store) / f"seeds-{seed_range(group)}"
        if run in there.others:
            raise MvlError(f"{run} was trained with other settings than this asks for; move it away, or give another --store.")
        jobs.append(Job(with_seeds(experiment, group, data), run))
    return jobs


def with_seeds(experiment: Experiment, seeds: Sequence[int], data: Path | None) -> Experiment:
    """The experiment with these seeds, on the datasets of a folder."""
    return replace(experiment, seeds=tuple(seeds), data=replace(experiment.data, folder=data))


def _groups(seeds: list[int]) -> list[tuple[int, ...]]:
    """Cut where a number is left out: seeds trained together follow each other."""
    groups: list[list[int]] = []
    for seed in sorted(seeds):
        if groups and groups[-1][-1] == seed - 1:
            groups[-1].append(seed)
        else:
            groups.append([seed])
    return [tuple(group) for group in groups]


def is_done(run: Path, steps: int, seeds: Sequence[int]) -> bool:
    """Whether every seed was evaluated at the last step, and the checkpoint, if it is kept, is the one from then."""
    return _is_done(_saved_step(run), _evaluations(run), steps, seeds)


def _is_done(saved: int | None, rows: list[dict[str, Any]], steps: int, seeds: Sequence[int]) -> bool:
    reached = {row["seed"] for row in rows if row["step"] >= steps}
    return reached >= set(seeds) and (saved is None or saved >= steps)


def _saved_step(run: Path) -> int | None:
    """The step of the checkpoint. Read it before the evaluations: a run that is training writes those first."""
    checkpoint = RunFolder(run).checkpoint_file
    return step_of(checkpoint) if checkpoint.exists() else None


def _evaluations(run: Path) -> list[dict[str, Any]]:
    return metrics.read(RunFolder(run).evaluations_file, growing=True)


def progress_of(job: Job) -> int:
    """Steps done so far, times seeds."""
    rows = _logged(RunFolder(job.run).timing_file, "step")
    return len(job.experiment.seeds) * min(job.experiment.schedule.steps, int(rows[-1]["step"]) if rows else 0)


def _logged(path: Path, number: str) -> list[dict[str, Any]]:
    """Lines of a log that are JSON objects with a number of this name. Others, such as lines torn by a kill, are left out."""
    rows = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with suppress(ValueError, RecursionError, OverflowError):
            row = json.loads(line)
            if isinstance(row, dict) and isinstance(row.get(number), int | float) and math.isfinite(row[number]):
                rows.append(row)
    return rows


def spent(run: Path) -> float:
    """Seconds that processes worked on a run: as its clock says, else from its first row of timing to its last."""
    clock = run.with_name(f"{run.name}.clock.jsonl")
    logged = [row["time"] for row in _logged(RunFolder(run).timing_file, "time")]
    sessions = _logged(clock, "time")
    if not sessions:
        return logged[-1] - logged[0] if logged else 0.0
    total = 0.0
    for session, following in zip(sessions, [*sessions[1:], {}], strict=True):
        if session.get("event") != "began":
            continue
        if following.get("event") == "ended":
            total += following["time"] - session["time"]
        else:  # killed: it worked at least until its last row
            limit = following.get("time", float("inf"))
            total += max([time for time in logged if session["time"] <= time < limit], default=session["time"]) - session["time"]
    return total
