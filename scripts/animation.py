"""An episode that follows a plan through a maze, as an animated GIF: docs/images/planning.gif.

mvl train pointmaze-medium-navigate-v0 --recipe gcivl-slope --steps 10000 --eval-every 10000 --run runs/maze
python scripts/animation.py runs/maze --task 4 --to docs/images/planning.gif
"""

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image

from mvl.deploy.policy import load_policy
from mvl.planning.following import Follower
from mvl.plots import drawing
from mvl.plots.fields import PLAN_COLOR, surface
from mvl.results.geometry import values_on_grid
from mvl.runs.planning import followers, planner_of
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import Start, quiet_simulators

INCHES, DPI, COLORS, MILLISECONDS, PAUSE = 4.4, 100, 48, 90, 1800


class Moment(NamedTuple):
    """One step of an episode: where the policy is, its sub-goal, and the path from there to the goal."""

    place: np.ndarray
    subgoal: np.ndarray
    path: np.ndarray


class Scene(NamedTuple):
    """What stays the same in all frames."""

    maze: Maze
    values: np.ndarray
    follower: Follower
    goal: np.ndarray


def played(run: Path, task: int, seed: int) -> tuple[Scene, list[Moment]]:
    """An episode of the run's first seed, which follows a plan."""
    description, learner, state = restore(run)
    assert description.task.maze is not None, "the run's task has a maze"
    graph = planner_of(description.experiment.schedule, "graph")
    assert graph is not None, "a planner was asked for by name"
    follower = followers(run, description, learner, state, graph)[0]
    policy, maze = load_policy(run, plan="none"), description.task.maze()
    moments: list[Moment] = []
    with quiet_simulators():
        simulator = description.task.make_simulator()
        observation, goal = simulator.reset(Start(task, seed))
        follower.begin(observation[None], goal[None])
        params = jax.tree.map(lambda leaf: leaf[0], state.params)
        scene = Scene(maze, values_on_grid(learner, params, maze, observation, goal), follower, goal)
        while not simulator.done:
            subgoal = follower.subgoals(observation[None])[0]
            moments.append(Moment(observation[:2].copy(), subgoal[:2], follower.path(0)[:, :2]))
            observation = simulator.step(policy.act(observation, subgoal))
    return scene, [*moments, Moment(observation[:2], goal[:2], goal[None, :2])]


def frames(scene: Scene, moments: list[Moment], count: int) -> Iterator[Image.Image]:
    """So many pictures of the episode, at equal times."""
    places = np.stack([moment.place for moment in moments])
    for index in np.linspace(0, len(moments) - 1, count).round().astype(int):
        yield drawn(scene, moments[index], places[: index + 1])


def drawn(scene: Scene, moment: Moment, walked: np.ndarray) -> Image.Image:
    rows, columns = scene.maze.walls.shape
    figure = Figure(figsize=(INCHES, INCHES * rows / columns), dpi=DPI)
    ax = figure.add_axes((0, 0, 1, 1))
    surface(ax, scene.maze, scene.values, arrows=False)
    drawing.walls(ax, scene.maze)
    places, onward = scene.follower.map.goals[:, :2], scene.follower.onward[0, :-1]
    tree = np.stack([places, np.concatenate([places, scene.goal[None, :2]])[onward]], axis=1)
    ax.add_collection(LineCollection(list(tree), colors="white", linewidths=0.3, alpha=0.35, zorder=1.6))
    path = np.concatenate([moment.place[None], moment.path])
    ax.plot(*path.T, color=PLAN_COLOR, linewidth=2.4, marker="o", markersize=3, zorder=1.8)
    ax.plot(*walked.T, color=drawing.COLORS[1], linewidth=2.4, zorder=1.9)
    ax.plot(*moment.subgoal, "o", color=PLAN_COLOR, markeredgecolor="white", markersize=9, zorder=2.1)
    ax.plot(*moment.place, "o", color=drawing.COLORS[1], markeredgecolor="white", markersize=11, zorder=2.2)
    drawing.goals(ax, scene.goal[None])
    ax.axis("off")
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return Image.open(written).convert("RGB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run whose task has a maze")
    parser.add_argument("--to", type=Path, required=True, help="the GIF to write")
    parser.add_argument("--task", type=int, default=1, help="which of the maze's goals")
    parser.add_argument("--seed", type=int, default=0, help="seed of the episode")
    parser.add_argument("--frames", type=int, default=36, help="number of pictures")
    options = parser.parse_args()
    scene, moments = played(options.run, options.task, options.seed)
    pictures = list(frames(scene, moments, options.frames))
    palette = pictures[-1].quantize(COLORS)
    still = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    times = [MILLISECONDS] * (len(still) - 1) + [PAUSE]
    still[0].save(options.to, save_all=True, append_images=still[1:], duration=times, loop=0, optimize=True)
    print(f"{options.to}: {len(moments) - 1} steps, {options.to.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
