"""One run on the page: its environment with moving bodies, path, goal and value."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import trimesh
from matplotlib import colormaps

from mvl.deploy.viewer.episodes import RecordedEpisode, tip_site
from mvl.deploy.viewer.geometry import Shape, ground, moving, placed, shapes
from mvl.deploy.viewer.recording import Recording
from mvl.tasks.maze import POINTS_PER_CELL

TEAL, PURPLE, ORANGE, GRAY, WHITE = (0, 158, 115), (123, 50, 148), (213, 94, 0), (222, 224, 227), (255, 255, 255)
"""Colors of: paths of a mollified value, paths of any other value, goals, floors, lines along paths."""
NODE, BLUE = (90, 95, 105), (0, 114, 178)
"""Colors of a planner's nodes, and of its path and sub-goal."""
WAYPOINTS = 60
"""Number of balls along a path, evenly spaced in time."""
GOAL_OPACITY, LIFT = 0.4, 0.07
"""Opacity of the copy of an object at its goal; its height above the object if only the color has to change."""


class Way(NamedTuple):
    """Waypoints of an episode as they are drawn."""

    balls: Any
    times: np.ndarray  # (waypoints,) the step of each
    color: tuple[int, int, int]

    def at(self, step: int) -> None:
        """Make those after this step pale."""
        color = np.array(self.color)
        shown = np.where((self.times <= step)[:, None], color, 255 - (255 - color) * 0.35)
        self.balls.batched_colors = _linear(shown)


class Stage:
    """A run's scene. `show` sets it up for an episode, `at` shows a step of that episode."""

    def __init__(self, scene: Any, name: str, recording: Recording, offset: np.ndarray, side_axis: int) -> None:
        self.scene, self.name, self.recording, self.side_axis = scene, name, recording, side_axis
        played = [episode for task in recording.episodes for episode in task]
        self.shapes = shapes(recording.model, np.concatenate([episode.colors for episode in played]))
        states = [poses for episode in played for poses in (episode.poses[0], episode.target.poses)]
        self.extent = ground(recording.model, self.shapes, states)
        self.size = float(np.ptp(self.extent, axis=0).max())
        scene.add_frame(name, show_axes=False, position=offset)
        self._floor()
        self.moves, start = moving(recording.model), played[0].poses[0]
        self.bodies = {
            body: scene.add_frame(f"{name}/body{body}", show_axes=False)
            for body in sorted({shape.body for shape in self.shapes if self.moves[shape.body]})
        }
        self.meshes = [self._mesh(shape, start) for shape in self.shapes]
        self.handles: list[Any] = []
        """Scene objects of the current episode."""

    def show(self, task: int, number: int, floor_value: bool, others: Sequence[Recording] = ()) -> None:
        """Set up an episode: its path, goal, value and label, and the paths of the same episode in other recordings."""
        for handle in self.handles:
            handle.remove()
        self.handles = []
        self.episode = self.recording.episodes[task][number]
        self.plan = self.recording.plans[task][number] if self.recording.plans and self.recording.maze else None
        self.ways: list[Way] = []
        for drawn in (self.recording, *others):
            self.handles += self._path(drawn.episodes[task][number], path_color(drawn), f"{self.name}/path{len(self.ways)}")
        self.handles += [*self._goal(), *self._label(), *self._graph()]
        if floor_value and self.recording.values:
            self.handles.append(self._value(self.recording.values[task][number]))
        self.at(0)

    def at(self, step: int) -> None:
        """Show the state after this many steps, or at the end of a shorter episode."""
        self.asked, self.step = step, min(step, self.episode.length)
        for body, frame in self.bodies.items():
            pose = self.episode.poses[self.step, body]
            frame.position, frame.wxyz = pose[:3], pose[3:]
        for shape, mesh in zip(self.shapes, self.meshes, strict=True):
            color = tuple(int(part) for part in self.episode.colors[self.step, shape.geom, :3])
            if mesh.color != color:
                mesh.color = color
        for way in self.ways:
            way.at(step)
        if self.plan is not None:
            x, y = self.plan.subgoals[min(self.step, len(self.plan.subgoals) - 1), :2]
            self.subgoal.position = (float(x), float(y), 0.02 * self.size)

    def _floor(self) -> None:
        (left, near, height), (right, far, _) = self.extent
        middle = ((left + right) / 2, (near + far) / 2, height - 0.01 * self.size)
        size = (right - left, far - near, 0.018 * self.size)
        self.scene.add_box(f"{self.name}/floor", color=GRAY, dimensions=size, position=middle, cast_shadow=False)

    def _mesh(self, shape: Shape, start: np.ndarray) -> Any:
        """The mesh of a shape in the frame of its body, or fixed in the scene if the body cannot move."""
        red, green, blue, alpha = (int(part) for part in self.recording.episodes[0][0].colors[0, shape.geom])
        parent = f"{self.name}/body{shape.body}" if self.moves[shape.body] else self.name
        vertices = shape.vertices if self.moves[shape.body] else placed(shape.vertices, start[shape.body])
        return self.scene.add_mesh_simple(
            f"{parent}/shape{shape.geom}", vertices, shape.faces, color=(red, green, blue),
            opacity=None if alpha == 255 else alpha / 255,
        )  # fmt: skip

    def _path(self, episode: RecordedEpisode, color: tuple[int, int, int], name: str) -> list[Any]:
        """A white line along every step, and waypoints evenly spaced in time."""
        on_value = self.recording.maze is not None  # a wide line is visible on it: purple is also the color of low values
        path = episode.path + np.array([0, 0, 0.012 * self.size * on_value])
        times = np.unique(np.linspace(0, episode.length, WAYPOINTS).round().astype(int))
        ball = trimesh.creation.icosphere(subdivisions=2, radius=0.009 * self.size)
        balls = self.scene.add_batched_meshes_simple(
            f"{name}/waypoints", ball.vertices, ball.faces, np.tile([1.0, 0, 0, 0], (len(times), 1)), path[times],
            batched_colors=np.tile(np.array(color, np.uint8), (len(times), 1)), lod="off", cast_shadow=False,
        )  # fmt: skip
        self.ways.append(Way(balls, times, color))
        line = np.stack([path[:-1], path[1:]], axis=1)
        thickness = (0.022 if on_value else 0.0025) * self.size
        return [balls, self.scene.add_line_segments(f"{name}/line", line, WHITE, thickness=thickness)]

    def _goal(self) -> list[Any]:
        """In a maze, a pin at the goal; elsewhere, pale copies of the objects that have to change, at their goals."""
        if self.recording.maze is not None:
            unit = self.recording.maze.unit
            ball = trimesh.creation.icosphere(radius=0.16 * unit).apply_translation((0, 0, 0.8 * unit))
            pole = trimesh.creation.cylinder(radius=0.035 * unit, segment=((0, 0, 0), (0, 0, 0.8 * unit)))
            foot = trimesh.creation.cylinder(radius=0.2 * unit, segment=((0, 0, 0), (0, 0, 0.03 * unit)))
            pin: Any = trimesh.util.concatenate([ball, pole, foot])
            where = (*self.episode.goal[:2], 0)
            return [self.scene.add_mesh_simple(f"{self.name}/goal", pin.vertices, pin.faces, color=ORANGE, position=where)]
        return [handle for shape in self.shapes for handle in self._goal_copy(shape)]

    def _graph(self) -> list[Any]:
        """In a maze, what the planner does: nodes of its graph, its first path, and the current sub-goal."""
        if self.plan is None:
            return []
        nodes, path = (  # the path lies above the line of the steps that were taken
            np.pad(places[:, :2], ((0, 0), (0, 1)), constant_values=height * self.size)
            for places, height in ((self.plan.nodes, 0.006), (self.plan.path, 0.02))
        )
        dots = self.scene.add_point_cloud(f"{self.name}/nodes", nodes, NODE, point_size=0.0025 * self.size)
        lines = np.stack([path[:-1], path[1:]], axis=1)
        way = self.scene.add_line_segments(f"{self.name}/plan", lines, BLUE, thickness=0.01 * self.size)
        self.subgoal = self.scene.add_icosphere(f"{self.name}/subgoal", radius=0.016 * self.size, color=BLUE)
        return [dots, *([way] if len(lines) else []), self.subgoal]

    def _goal_copy(self, shape: Shape) -> list[Any]:
        """A pale copy of a shape at its goal; none for the robot, and if nothing has to change."""
        model, target, episode = self.recording.model, self.episode.target, self.episode
        site = tip_site(model)
        robot = site is not None and model.body_rootid[shape.body] == model.body_rootid[model.site_bodyid[site]]
        pose, color = target.poses[shape.body], episode.colors[0, shape.geom]
        moved = np.abs(pose - episode.poses[0, shape.body]).max() > 0.01
        recolored = (target.colors[shape.geom] != color).any()
        if robot or not (moved or recolored):
            return []
        color, pose = (color, pose) if moved else (target.colors[shape.geom], pose + np.eye(7)[2] * LIFT)
        name = f"{self.name}/goal{shape.geom}"
        return [
            self.scene.add_mesh_simple(
                name, shape.vertices, shape.faces, color=tuple(int(part) for part in color[:3]), opacity=GOAL_OPACITY,
                position=pose[:3], wxyz=pose[3:], cast_shadow=False,
            )
        ]  # fmt: skip

    def _label(self) -> list[Any]:
        (left, near, height), (right, far, _) = self.extent
        text = f"{self.recording.name}: {outcome(self.episode)}"
        where = ((left + right) / 2, near, height) if self.side_axis == 0 else (right, (near + far) / 2, height)
        return [self.scene.add_label(f"{self.name}/label", text, position=where, font_screen_scale=1.3, anchor="top-center")]

    def _value(self, values: np.ndarray) -> Any:
        """The value surface as a picture just above the floor; the color scale covers the values at free points."""
        maze = self.recording.maze
        assert maze is not None
        free = values[maze.grid()[2]]
        scaled = np.clip((values - free.min()) / max(float(np.ptp(free)), 1e-9), 0, 1)
        rim = POINTS_PER_CELL // 2  # half of the outer walls, cut off so that the picture ends inside them
        picture = (255 * colormaps["viridis"](scaled)[rim:-rim, rim:-rim, :3]).astype(np.uint8)
        left, right, bottom, top = maze.extent
        size = (right - left - maze.unit, top - bottom - maze.unit)
        where = ((left + right) / 2, (bottom + top) / 2, 0.002 * self.size)
        return self.scene.add_image(f"{self.name}/value", picture, *size, position=where, format="png", cast_shadow=False)


def path_color(recording: Recording) -> tuple[int, int, int]:
    """RGB color of a run's paths."""
    return TEAL if recording.mollified else PURPLE


def _linear(colors: np.ndarray) -> np.ndarray:
    """Colors as linear RGB, which viser takes for many meshes at once; all others are sRGB."""
    return (255 * (colors / 255) ** 2.2).astype(np.uint8)


def outcome(episode: RecordedEpisode) -> str:
    """The result of an episode, for its label."""
    if len(episode.success) > 1:
        return f"{sum(episode.success)} of {len(episode.success)} subtasks in {episode.length} steps"
    return f"reached in {episode.length} steps" if episode.success[0] else f"not reached in {episode.length} steps"
