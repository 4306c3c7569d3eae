"""Runs as jobs of SLURM, by submitit; results come back through the store, a folder that all nodes share. Needs submitit."""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mvl.errors import MvlError, UsageError
from mvl.studies.engines import Report, verdict
from mvl.studies.job import Job
from mvl.studies.process import Order, train

PAUSE = 2.0
HOURS = 24
"""Asked for unless said otherwise; a job that runs out of time is queued again, and goes on from its last checkpoint."""


class Train:
    """What a job does; submitit calls `checkpoint` when SLURM takes the node away."""

    def __call__(self, order: Order) -> int:
        return train(order)

    def checkpoint(self, order: Order) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, order)


def run(
    jobs: Sequence[Job],
    report: Report,
    folder: Path,
    gpus_per_run: float = 0,
    settings: Mapping[str, str] | None = None,
    cluster: str | None = None,
) -> dict[Job, str]:
    """One array of jobs. `settings` are submitit's, such as slurm_partition; `cluster` is for trying it without SLURM."""
    executor = _executor(folder, cluster)
    executor.update_parameters(name="mvl", cpus_per_task=1, timeout_min=60 * HOURS)
    if gpus_per_run:
        executor.update_parameters(gpus_per_node=int(gpus_per_run))
    try:
        executor.update_parameters(**{name: int(text) if text.isdigit() else text for name, text in (settings or {}).items()})
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"--slurm: {error}") from None
    with executor.batch():
        submitted = [executor.submit(Train(), job.order()) for job in jobs]
    pending = dict(zip(jobs, submitted, strict=True))
    ended: dict[Job, str] = {}
    try:
        while pending:
            for job in [job for job, task in pending.items() if task.done()]:
                ended[job] = _became(pending.pop(job), job)
            report([job for job in pending if job.run.exists()], ended)
            if pending:
                time.sleep(PAUSE)
    except BaseException:
        for task in pending.values():
            task.cancel()
        raise
    return {job: complaint for job, complaint in ended.items() if complaint}


def _became(task: Any, job: Job) -> str:
    error = task.exception()
    return f"{str(error).strip().splitlines()[-1]}; see {job.log}" if error else verdict(job, task.result())


def _executor(folder: Path, cluster: str | None) -> Any:
    try:
        import submitit
    except ImportError:
        raise MvlError("--engine slurm needs submitit; install it with: pip install 'mollified-value-learning[slurm]'") from None
    safe = f"{shlex.quote(sys.executable)} -P"  # the job starts Python with -m, which would import from the current folder
    try:
        return submitit.AutoExecutor(folder=folder, cluster=cluster or "slurm", slurm_python=safe)
    except RuntimeError:
        raise MvlError("SLURM's sbatch is not on this machine; run this where jobs are submitted.") from None
