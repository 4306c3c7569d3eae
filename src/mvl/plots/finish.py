"""What is shown after training: the success table or held-out measures, and a picture of the value."""

from pathlib import Path

from mvl.plots.episodes import value_along_episodes
from mvl.plots.fields import picture
from mvl.results.held_out import judged_table
from mvl.results.success import success_table
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import Description, RunFolder
from mvl.runs.judging import measures_of


def finish(path: Path) -> str:
    """Draw value.png into a run folder, and return the text that ends `mvl train`."""
    folder, description = RunFolder.open(path)
    lines = []
    if description.task.simulated:
        lines += _success(folder, description)
    elif description.data["path"]:
        lines += _measures(path)
    else:
        lines.append("no environment to evaluate in; validation losses are in evaluations.jsonl")
    lines += draw(path, folder.path / "value.png", description)
    lines.append(f"policy: mvl.load_policy({str(path)!r}).act(observation, goal)")
    return "\n".join(lines)


def _success(folder: RunFolder, description: Description) -> list[str]:
    result = reported(metrics.read(folder.evaluations_file))
    if not result:
        return [f"there are no evaluations in {folder.evaluations_file}; evaluate it with: mvl eval {folder.path}"]
    steps = next(iter(result.values()))["steps"]
    title = f"success, mean of the evaluations at steps {', '.join(map(str, steps))}"
    return [title, success_table(result, description.task.subtasks)]


def _measures(path: Path) -> list[str]:
    """Held-out measures, which are also saved in the run's folder."""
    judged = measures_of(path)
    return ["no environment to evaluate in; held-out measures:", judged_table(judged).text()] if judged else []


def draw(run: Path, to: Path, description: Description) -> list[str]:
    """Draw the value over the maze, or along held-out episodes if there is none; returns a line with the file's name."""
    if description.task.maze:
        picture(run, to)
        return [f"value surface and rollouts: {to}"]
    if description.experiment.recipe.has_surface and description.data["path"]:
        value_along_episodes(run, to)
        return [f"value along held-out episodes: {to}"]
    return []
