"""The content of a report about one run: files of its folder, measures of its value, a picture and videos."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.errors import MvlError
from mvl.evaluation.held_out.measures import BEST
from mvl.files import scratch_folder
from mvl.plots.finish import draw
from mvl.recipes.families import name_of_parts
from mvl.recipes.paper import cells_for
from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import Geometry, geometry_of_seeds
from mvl.results.statistics import Estimate, estimate
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import Description, RunFolder
from mvl.runs.judging import Judged, measures_of, saved_measures
from mvl.runs.video import Clip, Shots, film
from mvl.tasks import task_names

SHOTS = Shots(size=192, fps=15, frames=120)
"""Videos of at most eight seconds, about 20 kB each."""
Progress = Callable[[float], None]
"""Called with the fraction of the work that is done."""


class Success(NamedTuple):
    """Share of episodes that reached the goal, of one task or of all."""

    name: str
    per_seed: list[float]
    paper: tuple[float, float] | None
    """The paper's mean and standard deviation; None if it has no such cell."""

    @property
    def result(self) -> Estimate:
        return estimate(self.per_seed)


class InlineFile(NamedTuple):
    """A file that is embedded in the page, or the reason why there is none."""

    media_type: str = ""
    data: bytes = b""
    missing: str = ""

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Content:
    """Everything that a report shows about one run."""

    name: str
    """The folder's name, with as much of its path as makes it unique in the page."""
    description: Description
    recipe: str
    versions: dict[str, str]
    """Of the packages it was trained with."""
    git: dict[str, Any] | None
    """State of the source's repository, if it was trained from one."""
    evaluations: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    success: list[Success]
    """One per task, then one over all tasks; empty if the run was not evaluated."""
    steps: list[int]
    """Steps of the evaluations that `success` is the mean of."""
    judged: Judged | None
    """Held-out measures: of a run without an environment, or as they were saved before."""
    not_judged: str
    """Reason why a run without an environment has no measures."""
    geometry: list[Geometry]
    """One per seed; empty if the task has no maze or the recipe no value."""
    picture: InlineFile
    clips: list[tuple[Clip, InlineFile]]
    no_clips: str
    """Reason why there are no clips."""

    @property
    def trained(self) -> int:
        """Steps trained so far, according to the logged metrics."""
        return max((row["step"] for row in self.metrics), default=0)

    @property
    def overall(self) -> Success | None:
        return self.success[-1] if self.success else None

    @property
    def in_model(self) -> Success | None:
        """The held-out measure that ranks policies best: the share of goals reached in a learned model."""
        return Success(BEST, self.judged.overall.tolist(), None) if self.judged else None


def gather(path: Path, name: str, videos: bool, progress: Progress) -> Content:
    """The content for one run. A picture or video that cannot be made is replaced by the reason."""
    folder, description = RunFolder.open(path)
    evaluations = metrics.read(folder.evaluations_file)
    recipe = name_of_parts(description.experiment.recipe.names())
    success, steps = _success(description, recipe, evaluations) if description.task.simulated and evaluations else ([], [])
    progress(0.0)
    judged, not_judged = _judged(path, description)
    progress(0.1)
    picture = _picture(folder, description)
    progress(0.25)
    geometry = geometry_of_seeds(path, Mollified()) if folder.checkpoint_file.exists() else []
    progress(0.35)
    filming = lambda done, total: progress(0.35 + 0.6 * done / total)
    clips, no_clips = _clips(path, filming) if videos else ([], "They were left out.")
    progress(1.0)
    saved = json.loads(folder.description_file.read_text())
    return Content(
        name=name,
        description=description,
        recipe=recipe or description.experiment.recipe_name,
        versions=saved.get("versions", {}),
        git=saved.get("git"),
        evaluations=evaluations,
        metrics=metrics.read(folder.metrics_file),
        success=success,
        steps=steps,
        judged=judged,
        not_judged=not_judged,
        geometry=geometry,
        picture=picture,
        clips=clips,
        no_clips=no_clips,
    )


def _success(description: Description, recipe: str | None, evaluations: list[dict[str, Any]]) -> tuple[list[Success], list[int]]:
    """Success per task and overall, and the steps of the evaluations it is the mean of."""
    result = list(reported(evaluations).values())
    tasks = np.array([seed["tasks"] for seed in result])
    names = description.task.subtasks or [f"task {number + 1}" for number in range(tasks.shape[1])]
    published = cells_for(description.task.name, recipe) if recipe and description.task.name in task_names() else []
    cell = (published[0].mean / 100, published[0].std / 100) if published else None
    rows = [Success(name, column.tolist(), None) for name, column in zip(names, tasks.T, strict=True)]
    return [*rows, Success("overall", [seed["overall"] for seed in result], cell)], result[0]["steps"]


def _judged(path: Path, description: Description) -> tuple[Judged | None, str]:
    """Held-out measures, or the reason why there are none; with an environment only those that were saved before."""
    try:
        if description.task.simulated:
            return saved_measures(path), ""
        return measures_of(path), "There is no checkpoint yet."
    except MvlError as error:
        return None, str(error)


def _picture(folder: RunFolder, description: Description) -> InlineFile:
    """The run's value.png, or a new picture if it is older than the checkpoint."""
    drawn = folder.path / "value.png"
    if not folder.checkpoint_file.exists():
        return InlineFile(missing="There is no checkpoint yet.")
    if drawn.exists() and drawn.stat().st_mtime >= folder.checkpoint_file.stat().st_mtime:
        return InlineFile("image/png", drawn.read_bytes())
    with scratch_folder() as scratch:
        to = Path(scratch) / "value.png"
        try:
            if draw(folder.path, to, description):
                return InlineFile("image/png", to.read_bytes())
        except MvlError as error:
            return InlineFile(missing=str(error))
    return InlineFile(
        missing="It learns no value." if not description.experiment.recipe.has_surface else "Its data was not in a file."
    )


def _clips(path: Path, report: Callable[[int, int], None]) -> tuple[list[tuple[Clip, InlineFile]], str]:
    """A short video of each task, or the reason why there are none."""
    with scratch_folder() as scratch:
        try:
            clips = film(path, Path(scratch), SHOTS, report)
        except MvlError as error:
            return [], str(error)
        return [(clip, InlineFile("video/mp4", clip.path.read_bytes())) for clip in clips], ""
