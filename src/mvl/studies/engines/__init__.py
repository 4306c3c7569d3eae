"""Engines that run jobs: as processes of this machine, as tasks of Ray, or as jobs of SLURM."""

from collections.abc import Callable, Sequence

from mvl.errors import MvlError
from mvl.studies.job import Job
from mvl.studies.store import is_done

Report = Callable[[Sequence[Job], dict[Job, str]], None]
"""Called about every second with the running jobs, and the ended ones with the reason of their failure, empty if none."""

Engine = Callable[[Sequence[Job], Report], dict[Job, str]]
"""Runs jobs and returns those that failed, each with the reason; a failed job does not stop the others."""


def failure_reason(job: Job, code: int | None) -> str:
    """Empty if the job is done, else what is wrong with its files, or the last line of its log."""
    try:
        if code == 0 and is_done(job.run, job.experiment.schedule.steps, job.experiment.seeds):
            return ""
    except MvlError as error:
        return str(error)
    lines = [line for line in job.log.read_text(errors="replace").splitlines() if line.strip()] if job.log.exists() else []
    last = lines[-1][:300] if lines else "no output"
    return f"ended with code {code} ({last}); see {job.log}"
