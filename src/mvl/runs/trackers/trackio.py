"""Trackio: a database in the user's folder, or a Space on the hub if TRACKIO_SPACE_ID is set."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from mvl.runs.folder import Description

PROJECT = "mvl"


class Trackio:
    """Logs to the project `mvl`. What the library prints is left out."""

    where = f"look at it with: trackio show --project {PROJECT}"

    def start(self, run: Path, description: Description, identity: str | None, step: int) -> str:
        import trackio

        name = identity or f"{run.name}-{uuid4().hex[:6]}"  # runs are found by their names, and folders may share one
        with redirect_stdout(StringIO()):
            self.run: Any = trackio.init(
                project=PROJECT,
                name=name,
                config=description.experiment.to_json(),
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )
        return name

    def log(self, step: int, row: dict[str, float]) -> None:
        self.run.log(row, step=step)

    def finish(self) -> None:
        import trackio

        finish: Any = trackio.finish  # of the current run; that of the run itself would be repeated at exit
        with redirect_stdout(StringIO()):
            finish()
