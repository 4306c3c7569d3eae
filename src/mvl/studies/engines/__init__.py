"""Where runs run: processes here, tasks of Ray, jobs of SLURM. Each is given jobs, and reports what became of them."""

from collections.abc import Callable, Sequence

from mvl.errors import MvlError
from mvl.studies.job import Job
from mvl.studies.store import is_done

Report = Callable[[Sequence[Job], dict[Job, str]], None]
"""Called about every second with the jobs that are running and what became of those that ended: nothing, or a complaint."""

Engine = Callable[[Sequence[Job], Report], dict[Job, str]]
"""Does jobs, and returns those that failed, each with a complaint; one that fails does not stop the others."""


def verdict(job: Job, code: int | None) -> str:
    """Nothing if the job is done, else what is wrong with its files, or the last words of its log."""
    try:
        if code == 0 and is_done(job.run, job.experiment.schedule.steps, job.experiment.seeds):
            return ""
    except MvlError as error:
        return str(error)
    lines = [line for line in job.log.read_text(errors="replace").splitlines() if line.strip()] if job.log.exists() else []
    last = lines[-1][:300] if lines else "it said nothing"
    return f"ended with code {code} ({last}); see {job.log}"
