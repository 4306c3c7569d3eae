"""Jobs as jobs of SLURM, submitted with submitit; all nodes must share the folder of the store. Needs submitit."""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mvl.errors import MvlError, UsageError
from mvl.studies.engines import Report, failure_reason
from mvl.studies.job import Job
from mvl.studies.process import JobSpec, train

POLL_SECONDS = 2.0
HOURS = 24
"""Default time limit; a job that exceeds it is queued again and continues from its last checkpoint."""


class Train:
    """The function of a SLURM job; submitit calls `checkpoint` when the job is preempted or out of time."""

    def __call__(self, job: JobSpec) -> int:
        return train(job)

    def checkpoint(self, job: JobSpec) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, job)


def run(
    jobs: Sequence[Job],
    report: Report,
    folder: Path,
    gpus_per_run: float = 0,
    settings: Mapping[str, str] | None = None,
    cluster: str | None = None,
) -> dict[Job, str]:
    """Submit the jobs as one array. `settings` are parameters of submitit; `cluster` is for tests without SLURM."""
    if not str(folder).isprintable():
        raise UsageError("--store has a character that cannot be printed, such as a newline; choose another folder for SLURM.")
    executor = _executor(folder, cluster)
    executor.update_parameters(name="mvl", cpus_per_task=1, timeout_min=60 * HOURS)
    if gpus_per_run:
        executor.update_parameters(gpus_per_node=int(gpus_per_run))
    try:
        executor.update_parameters(**{name: int(text) if text.isdigit() else text for name, text in (settings or {}).items()})
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"--slurm: {error}") from None
    with executor.batch():
        submitted = [executor.submit(Train(), job.spec()) for job in jobs]
    pending = dict(zip(jobs, submitted, strict=True))
    ended: dict[Job, str] = {}
    try:
        while pending:
            for job in [job for job, task in pending.items() if task.done()]:
                ended[job] = _failure(pending.pop(job), job)
            report([job for job in pending if job.run.exists()], ended)
            if pending:
                time.sleep(POLL_SECONDS)
    except BaseException:
        for task in pending.values():
            task.cancel()
        raise
    return {job: reason for job, reason in ended.items() if reason}


def _failure(task: Any, job: Job) -> str:
    error = task.exception()
    return f"{str(error).strip().splitlines()[-1]}; see {job.log}" if error else failure_reason(job, task.result())


def _executor(folder: Path, cluster: str | None) -> Any:
    try:
        import submitit
    except ImportError:
        raise MvlError("--engine slurm needs submitit; install it with: pip install 'mollified-value-learning[slurm]'") from None
    python = f"{shlex.quote(sys.executable)} -P"  # submitit runs Python with -m; -P keeps the current folder off the path
    try:
        return submitit.AutoExecutor(folder=folder, cluster=cluster or "slurm", slurm_python=python)
    except RuntimeError:
        raise MvlError("SLURM's sbatch is not on this machine; run this where jobs are submitted.") from None
