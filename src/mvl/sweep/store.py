"""What the store holds of a variant: finished seeds, unfinished runs, and how long they took."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from mvl.errors import MvlError
from mvl.runs.evaluation import reported
from mvl.runs.folder import RunFolder
from mvl.sweep.job import Job, Variant, spelled


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
    """What is there of a variant."""

    finished: dict[int, Seed]
    unfinished: list[Job]
    others: list[Path]
    """Runs in its folder that are not of it: trained with other settings."""


def held(variant: Variant, store: Path, data: Path | None, records: Path | None = None) -> Held:
    """Every run in the variant's folder counts, whoever made it; a seed that is there twice counts once.

    Runs of `records` count if the store has none of the same name.
    """
    finished: dict[int, Seed] = {}
    unfinished, others = [], []
    for run in _runs(variant, store, records):
        folder, description = RunFolder.open(run)
        if not variant.made_by(description):
            others.append(folder.path)
            continue
        evaluations = whole_rows(folder.evaluations_file)
        if is_done(folder.path, variant.schedule.steps, description.seeds):
            last = {row["seed"]: row for row in evaluations}
            for seed, found in reported(evaluations).items():
                losses = {name: value for name, value in last[seed].items() if name.startswith("validation/")}
                sha = str(description.data.get("sha256"))
                result = Seed(seed, found["overall"], tuple(found["tasks"]), losses, folder.path, sha)
                finished.setdefault(seed, result)
        else:
            unfinished.append(Job(variant, tuple(description.seeds), folder.path, data))
    return Held(finished, unfinished, others)


def _runs(variant: Variant, store: Path, records: Path | None) -> list[Path]:
    places = [variant.folder(place) for place in (records, store) if place]
    by_name = {file.parent.name: file.parent for place in places for file in place.glob("*/run.json")}
    return [by_name[name] for name in sorted(by_name)]


def remaining(
    variant: Variant, seeds: list[int], store: Path, data: Path | None, together: bool, records: Path | None = None
) -> list[Job]:
    """The jobs that are left: unfinished runs that have one of the seeds, and new ones for the seeds in none."""
    there = held(variant, store, data, records)
    missing = [seed for seed in seeds if seed not in there.finished]
    jobs = []
    for job in there.unfinished:
        if set(job.seeds) & set(missing):
            jobs.append(job)
            missing = [seed for seed in missing if seed not in job.seeds]
    for group in _groups(missing) if together else [(seed,) for seed in missing]:
        run = variant.folder(store) / f"seeds-{spelled(group)}"
        if run in there.others:
            raise MvlError(f"{run} was trained with other settings than this asks for; move it away, or give another --store.")
        jobs.append(Job(variant, group, run, data))
    return jobs


def _groups(seeds: list[int]) -> list[tuple[int, ...]]:
    """Cut where a number is left out: seeds trained together follow each other."""
    groups: list[list[int]] = []
    for seed in sorted(seeds):
        if groups and groups[-1][-1] == seed - 1:
            groups[-1].append(seed)
        else:
            groups.append([seed])
    return [tuple(group) for group in groups]


def is_done(run: Path, steps: int, seeds: list[int] | tuple[int, ...]) -> bool:
    """Whether every seed was evaluated at the last step, and the checkpoint, if it is kept, is the one from then."""
    folder = RunFolder(run)
    reached = {row["seed"] for row in whole_rows(folder.evaluations_file) if row["step"] >= steps}
    return reached >= set(seeds) and not _unsaved(folder)


def _unsaved(folder: RunFolder) -> bool:
    """Whether it was killed between the last evaluation and saving what was evaluated."""
    if not folder.checkpoint_file.exists():
        return False
    with safe_open(folder.checkpoint_file, framework="numpy") as file:
        sizes = json.loads((file.metadata() or {}).get("mvl", "{}")).get("sizes", {})
    return sizes.get(folder.evaluations_file.name) != folder.evaluations_file.stat().st_size


def progress_of(job: Job) -> int:
    """Steps done so far, times seeds."""
    rows = whole_rows(RunFolder(job.run).timing_file)
    return len(job.seeds) * min(job.variant.schedule.steps, rows[-1]["step"] if rows else 0)


def whole_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that may be being written just now, without the last if it is cut short."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def spent(run: Path) -> float:
    """Seconds that processes worked on a run: as its clock says, else from its first row of timing to its last."""
    clock = run.with_name(f"{run.name}.clock.jsonl")
    logged = [row["time"] for row in whole_rows(RunFolder(run).timing_file)]
    sessions = whole_rows(clock)
    if not sessions:
        return logged[-1] - logged[0] if logged else 0.0
    total = 0.0
    for session, following in zip(sessions, [*sessions[1:], {}], strict=True):
        if session["event"] != "began":
            continue
        if following.get("event") == "ended":
            total += following["time"] - session["time"]
        else:  # killed: it worked at least until its last row
            limit = following.get("time", float("inf"))
            total += max([time for time in logged if session["time"] <= time < limit], default=session["time"]) - session["time"]
    return total
