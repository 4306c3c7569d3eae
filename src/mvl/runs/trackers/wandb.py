"""Weights & Biases: kept in the run's folder, and uploaded only if WANDB_MODE=online is set."""

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

from mvl.runs.folder import Description


class WeightsAndBiases:
    """Logs to the project of WANDB_PROJECT, by default `mvl`."""

    where = ""

    def start(self, run: Path, description: Description, identity: str | None, step: int) -> str:
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        if mode == "offline":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # read by wandb when it is imported
        import wandb

        quiet: dict[str, Any] = {"silent": True, "console": "off", "x_disable_stats": True, "x_disable_meta": True}
        self.run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "mvl"),
            name=run.name,
            id=identity or uuid4().hex[:8],
            resume="allow",
            dir=run,
            mode=mode,
            config=description.experiment.to_json(),
            settings=wandb.Settings(**quiet, disable_git=True, disable_code=True),
        )
        folder = self.run.settings.sync_dir
        self.where = f"upload it with: wandb sync {folder}" if self.run.offline else f"look at it at {self.run.url}"
        return str(self.run.id)

    def log(self, step: int, row: dict[str, float]) -> None:
        self.run.log(row, step=step, commit=True)

    def finish(self) -> None:
        self.run.finish()
