"""What a report tells of a run: read from its folder, measured, drawn and filmed."""

import base64
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.errors import MvlError
from mvl.plots.finish import draw
from mvl.recipes.families import name_of_parts
from mvl.recipes.paper import cells_for
from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import Geometry, geometry_of_seeds
from mvl.results.statistics import Estimate, estimate
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import Description, RunFolder
from mvl.runs.video import Clip, Shots, film
from mvl.tasks import task_names

SHOTS = Shots(size=192, fps=15, frames=120)
"""Eight seconds at most, some 20 kB each."""
Tell = Callable[[float], None]
"""Is called with the share that is done."""


class Success(NamedTuple):
    """How often a task's goal was reached, or all tasks' goals."""

    name: str
    per_seed: list[float]
    paper: tuple[float, float] | None

    @property
    def result(self) -> Estimate:
        return estimate(self.per_seed)


class Inlined(NamedTuple):
    """A file inside the page, or the reason why it is not there."""

    kind: str = ""
    data: bytes = b""
    missing: str = ""

    @property
    def url(self) -> str:
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Content:
    name: str
    """Of the folder; several runs of a page have different ones."""
    description: Description
    recipe: str
    surroundings: dict[str, Any]
    """Versions, and the commit of the source, as run.json has them."""
    evaluations: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    success: list[Success]
    """Of every task, the last of all together; empty where nothing was evaluated."""
    steps: list[int]
    """Of the evaluations which that is the mean of."""
    geometry: list[Geometry]
    """Per seed; empty where a value has no map."""
    picture: Inlined
    clips: list[tuple[Clip, Inlined]]
    no_clips: str
    """Why there are none."""

    @property
    def trained(self) -> int:
        """Steps so far, as far as they were noted."""
        return max((row["step"] for row in self.metrics), default=0)

    @property
    def overall(self) -> Success | None:
        return self.success[-1] if self.success else None


def gather(path: Path, name: str, videos: bool, tell: Tell) -> Content:
    """Everything about one run. What cannot be shown is replaced by the reason; a folder that is no run is an error."""
    folder, description = RunFolder.open(path)
    evaluations = metrics.read(folder.evaluations_file)
    recipe = name_of_parts(description.experiment.recipe.names())
    success, steps = _success(description, recipe, evaluations) if description.task.simulated and evaluations else ([], [])
    tell(0.0)
    picture = _picture(folder, description)
    tell(0.25)
    measured = geometry_of_seeds(path, Mollified()) if folder.checkpoint_file.exists() else []
    tell(0.35)
    clips, no_clips = _clips(path, lambda done, total: tell(0.35 + 0.6 * done / total)) if videos else ([], "They were left out.")
    tell(1.0)
    kept = json.loads(folder.description_file.read_text())
    return Content(
        name=name,
        description=description,
        recipe=recipe or description.experiment.recipe_name,
        surroundings={"versions": kept.get("versions", {}), "git": kept.get("git")},
        evaluations=evaluations,
        metrics=metrics.read(folder.metrics_file),
        success=success,
        steps=steps,
        geometry=measured,
        picture=picture,
        clips=clips,
        no_clips=no_clips,
    )


def _success(description: Description, recipe: str | None, evaluations: list[dict[str, Any]]) -> tuple[list[Success], list[int]]:
    result = list(reported(evaluations).values())
    tasks = np.array([seed["tasks"] for seed in result])
    names = description.task.subtasks or [f"task {number + 1}" for number in range(tasks.shape[1])]
    published = cells_for(description.task.name, recipe) if recipe and description.task.name in task_names() else []
    cell = (published[0].mean / 100, published[0].std / 100) if published else None
    rows = [Success(name, column.tolist(), None) for name, column in zip(names, tasks.T, strict=True)]
    return [*rows, Success("overall", [seed["overall"] for seed in result], cell)], result[0]["steps"]


def _picture(folder: RunFolder, description: Description) -> Inlined:
    """value.png as the end of training left it, or drawn anew if there has been a checkpoint since."""
    drawn = folder.path / "value.png"
    if not folder.checkpoint_file.exists():
        return Inlined(missing="There is no checkpoint yet.")
    if drawn.exists() and drawn.stat().st_mtime >= folder.checkpoint_file.stat().st_mtime:
        return Inlined("image/png", drawn.read_bytes())
    with tempfile.TemporaryDirectory() as scratch:
        to = Path(scratch) / "value.png"
        try:
            if draw(folder.path, to, description):
                return Inlined("image/png", to.read_bytes())
        except MvlError as error:
            return Inlined(missing=str(error))
    return Inlined(
        missing="It learns no value." if not description.experiment.recipe.has_surface else "Its data was not in a file."
    )


def _clips(path: Path, tell: Callable[[int, int], None]) -> tuple[list[tuple[Clip, Inlined]], str]:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            clips = film(path, Path(scratch), SHOTS, tell)
        except MvlError as error:
            return [], str(error)
        return [(clip, Inlined("video/mp4", clip.path.read_bytes())) for clip in clips], ""
