"""One process's work on a run: steps, metrics, evaluations and checkpoints, until the end or Ctrl-C."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.batches import Batch
from mvl.data.goals import Rows
from mvl.data.out_of_core import Mapped
from mvl.errors import MvlError, StoppedError
from mvl.evaluation.acting import Planner, as_act, batched_act
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import play
from mvl.learn import checkpoint
from mvl.learn.devices import BatchSharding, arithmetic
from mvl.learn.learner import State
from mvl.learn.loop import dispatches, initial_state, over_seeds
from mvl.machine import cores, largest_memory
from mvl.planning.graph import Places
from mvl.runs import metrics
from mvl.runs.display import TrainingDisplay
from mvl.runs.distributed import Team
from mvl.runs.evaluation import evaluation_rows
from mvl.runs.folder import Description, RunFolder
from mvl.runs.health import Watch
from mvl.runs.planning import build_followers, planner_of
from mvl.runs.restore import learner_of
from mvl.runs.tracking import Tracking
from mvl.types import Key

Source = Rows | Mapped
"""Data on the device, or out of core."""


@contextmanager
def catching_interrupts(report: Callable[[str], None]) -> Iterator[list[int]]:
    """Record Ctrl-C in the yielded list instead of raising, so that the run can be saved; a second Ctrl-C raises."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)
        report("stopping when the current steps are done and saved; press Ctrl-C again to stop at once")

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # only the main thread can handle signals
        yield caught
        return
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)


class Session:
    """One process's work on a run."""

    def __init__(
        self,
        folder: RunFolder,
        description: Description,
        data: Source,
        validation: Source,
        workers: int | None,
        sharding: BatchSharding | None = None,
        places: Places | None = None,
        tracking: Tracking | None = None,
    ) -> None:
        """With `places`, evaluations plan on a graph over them."""
        self.folder, self.description, self.schedule = folder, description, description.experiment.schedule
        self.data, self.validation, self.sharding, self.team = data, validation, sharding, Team()
        self.places, self.watch, self.tracking = places, Watch(), tracking or Tracking((), folder, description)
        self.learner = learner_of(description)
        self.seeds = list(description.experiment.seeds)
        evaluates = description.task.simulated and self.team.first
        self.environments = Environments(description.task, workers or cores()) if evaluates else nullcontext()
        self.act = batched_act(self.learner, len(self.seeds), self.schedule.eval_temperature)
        self.draw_validation = jax.jit(over_seeds(self._validation_batch, len(self.seeds)))
        self.validate = jax.jit(over_seeds(self._validation_loss, len(self.seeds)))

    def __enter__(self) -> None:
        self.environments.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.tracking.finish()
        self.environments.__exit__(*exception)

    def run(self, state: State | None) -> None:
        """Train from `state` (None: from the start) to the end of the schedule."""
        schedule, team = self.schedule, self.team
        team.exchange()  # wait until every process is ready
        first = team.broadcast_first(initial_state(self.learner, self.seeds) if state is None else state)
        start = int(first.step[0])
        task = self.description.task
        title = f"{task} {self.description.experiment.recipe_name}"
        self.display = TrainingDisplay(title, schedule.steps, start, self.seeds, task.subtasks, not team.first)
        with catching_interrupts(self.display.print_line) as interrupted, self.display.running():
            if team.first and self._evaluation_missing(start):
                self._evaluate_or_save(first, start, 0.0)
                self._save(first)
            self.tracking.start(self.display.print_line)
            team.exchange()  # the others wait for the first process
            self.display.advance(start, 0.0, "compiling")
            began, busy, counted = time.monotonic(), 0.0, 0
            steps = schedule.steps, schedule.steps_per_dispatch
            for state, columns in dispatches(self.learner, first, self.data, *steps, self.sharding):
                step = int(state.step[0])
                if step > start + schedule.steps_per_dispatch:  # the first call includes compilation
                    busy, counted = busy + time.monotonic() - began, counted + schedule.steps_per_dispatch
                stopping = "stop" in team.exchange("stop" if interrupted else "continue")
                if team.first:
                    self._after_dispatch(state, step, columns, counted / busy if counted else 0.0, stopping)
                team.exchange()  # the others wait until that is done
                if stopping and step < schedule.steps:
                    raise StoppedError(f"stopped at step {step} and saved; continue with: mvl train --resume {self.folder.path}")
                began = time.monotonic()

    def _after_dispatch(self, state: State, step: int, columns: dict[str, np.ndarray], speed: float, stopping: bool) -> None:
        """Log, evaluate and save where the schedule asks for it at this step."""
        schedule, last = self.schedule, step == self.schedule.steps
        tracked: list[dict[str, Any]] = []
        self.display.advance(step, speed)
        if last or step % schedule.log_every == 0:
            rows = metrics.mean_rows(columns, self.seeds, step)
            self._write(self.folder.metrics_file, rows)
            timing = {"step": step, "steps_per_second": round(speed, 2), "time": round(time.time(), 1)}
            self._write(self.folder.timing_file, [{**timing, "memory": largest_memory()}])
            self.display.show_metrics(rows)
            self._warn(rows)
            tracked += rows
        if last or step % schedule.eval_every == 0:
            tracked += self._evaluate_or_save(state, step, speed)
        if tracked:
            self.tracking.log(step, tracked)
        if last or stopping or step % schedule.save_every == 0:
            self._save(state)

    def _write(self, path: Path, rows: list[dict[str, Any]]) -> None:
        with self.folder.writing(path):
            for row in rows:
                metrics.append(path, row)

    def _evaluation_missing(self, step: int) -> bool:
        """Whether the run was saved at this step without its evaluation, because that failed."""
        planned = step > 0 and (step == self.schedule.steps or step % self.schedule.eval_every == 0)
        return planned and all(row["step"] != step for row in metrics.read(self.folder.evaluations_file))

    def _evaluate_or_save(self, state: State, step: int, speed: float) -> list[dict[str, Any]]:
        """Evaluate, and return the rows; if that fails, save the run first, and evaluate this step when it is continued."""
        try:
            rows = self._evaluate(state, step, speed)
        except MvlError as error:
            self._save(state)
            raise MvlError(
                f"step {step} is saved (continue with: mvl train --resume {self.folder.path}), but cannot be evaluated: {error}"
            ) from None
        self._write(self.folder.evaluations_file, rows)
        self._warn(rows)
        return rows

    def _warn(self, rows: list[dict[str, Any]]) -> None:
        """Say what new rows show that is wrong with the training."""
        for sentence in self.watch.notice(rows):
            self.display.print_line(f"  warning: {sentence}")

    def _evaluate(self, state: State, step: int, speed: float) -> list[dict[str, Any]]:
        """Rows for evaluations.jsonl: losses on validation data, and success rates if there is an environment."""
        drawn = self.draw_validation(state)
        batch = self.validation.look_up(drawn) if isinstance(self.validation, Mapped) else drawn
        losses = {f"validation/{name}": np.asarray(column)[:, None] for name, column in self.validate(state, batch).items()}
        rows = metrics.mean_rows(losses, self.seeds, step)
        if isinstance(self.environments, Environments):
            self.display.advance(step, speed, "evaluating")
            act = as_act(self.act, state.params, self._planners(state), self.schedule.execute)
            played = play(act, self.environments, len(self.seeds), self.schedule.eval_episodes, (0, step))
            success = evaluation_rows(played, self.seeds, step)
            rows = [{**row, **loss} for row, loss in zip(success, rows, strict=True)]
            self.display.show_evaluations(rows)
        return rows

    def _planners(self, state: State) -> Sequence[Planner]:
        """A planner for each seed, on graphs over the current values, if the schedule asks for them."""
        graph = planner_of(self.schedule)
        if graph is None or self.places is None:
            return ()
        file = self.folder.graph_file
        with self.folder.writing(file):
            return build_followers(self.description, graph, self.places, self.learner, state, file)

    def _validation_key(self, state: State) -> Key:
        return jax.random.fold_in(jax.random.key(state.seed), state.step)

    def _validation_batch(self, state: State) -> Batch:
        data = self.validation.rows if isinstance(self.validation, Mapped) else self.validation
        return self.learner.sample(data, self._validation_key(state))

    def _validation_loss(self, state: State, batch: Batch) -> dict[str, Any]:
        """Metrics of the losses on a batch, and the shares of the policy's and of the data's actions at their limits."""
        key = self._validation_key(state)
        losses = self.learner.loss(state.params, state.targets, batch, key)[1]
        actions = self.learner.act_on_inputs(state.params, batch.observations, batch.actor_goals.vectors, key, jnp.zeros(()))
        logged = self.learner.head.with_vectors(batch).actions
        shares = {name: (jnp.abs(each) >= 1).mean() for name, each in (("at_limits", actions), ("data_at_limits", logged))}
        return {**losses, **shares}

    def _save(self, state: State) -> None:
        """Write a checkpoint; the rows whose sizes it records are on the disk before."""
        folder = self.folder
        with folder.writing(folder.checkpoint_file):
            folder.path.stat()  # if the folder was removed, fail instead of making it again
            sizes = {file.name: metrics.sync(file) for file in (folder.metrics_file, folder.evaluations_file)}
            checkpoint.save(folder.checkpoint_file, state, {"sizes": sizes, "arithmetic": arithmetic(self.sharding)})
