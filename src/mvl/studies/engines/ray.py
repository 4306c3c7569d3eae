"""Jobs as tasks of Ray, on a cluster or on this machine; all nodes must share the folder of the store. Needs ray."""

import os
from collections.abc import Sequence
from typing import Any

from mvl.errors import MvlError
from mvl.studies.engines import Report, failure_reason
from mvl.studies.job import Job
from mvl.studies.process import KilledError, train

RETRIES = 3
"""How often a job is tried again after its worker or node has died."""


def run(jobs: Sequence[Job], report: Report, address: str | None = None, gpus_per_run: float = 0) -> dict[Job, str]:
    """Run jobs on the cluster at this address (`auto`: that of this machine), or on a new cluster of this machine alone."""
    ray = _ray()
    started_here = not ray.is_initialized()
    if started_here:
        try:
            ray.init(address=address or "local", include_dashboard=None if address else False, log_to_driver=False)
        except ConnectionError as error:
            raise MvlError(f"no Ray cluster answers at {address} ({error}); start one with: ray start --head") from None
    try:
        return _collect(ray, jobs, report, gpus_per_run)
    finally:
        if started_here:
            ray.shutdown()


def _collect(ray: Any, jobs: Sequence[Job], report: Report, gpus_per_run: float) -> dict[Job, str]:
    resources = {"num_cpus": 1, "num_gpus": gpus_per_run, "max_retries": RETRIES, "retry_exceptions": [KilledError]}
    task = ray.remote(**resources)(train)
    pending = {task.remote(job.spec(), os.getcwd()): job for job in jobs}
    ended: dict[Job, str] = {}
    try:
        while pending:
            for reference in ray.wait(list(pending), num_returns=1, timeout=1.0)[0]:
                job = pending.pop(reference)
                ended[job] = _failure(ray, reference, job)
            report([job for job in pending.values() if job.run.exists()], ended)
    except BaseException:
        for reference in pending:
            ray.cancel(reference)
        ray.wait(list(pending), num_returns=len(pending))  # wait until they have saved a checkpoint
        raise
    return {job: reason for job, reason in ended.items() if reason}


def _failure(ray: Any, reference: Any, job: Job) -> str:
    try:
        return failure_reason(job, ray.get(reference))
    except ray.exceptions.RayError as error:
        return f"{str(error).strip().splitlines()[-1]}; see {job.log}"


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MvlError("--engine ray needs ray; install it with: pip install 'mollified-value-learning[ray]'") from None
    return ray
