"""What a finished run shows: its success table, and a picture where there is something to draw."""

from pathlib import Path

from mvl.report.fields import maze_of, picture
from mvl.report.tables import success_table
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import RunFolder


def finish(path: Path) -> str:
    """Write value.png for mazes, and return the closing words."""
    folder, description = RunFolder.open(path)
    lines = []
    if description.simulated:
        result = reported(metrics.read(folder.evaluations_file))
        steps = next(iter(result.values()))["steps"]
        lines += [
            f"success, mean of the evaluations at steps {', '.join(map(str, steps))}",
            success_table(result, description.subtasks),
        ]
        if maze_of(description.task) is not None:
            picture(path, folder.path / "value.png")
            lines.append(f"value surface and rollouts: {folder.path / 'value.png'}")
    else:
        lines.append("no environment to evaluate in; validation losses are in evaluations.jsonl")
    lines.append(f"policy: mvl.load_policy({str(path)!r}).act(observation, goal)")
    return "\n".join(lines)
