"""The viewer's page: one or two runs side by side, a camera, and controls of playback."""

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from html import escape
from typing import Any

import numpy as np
import viser

from mvl.deploy.viewer.access import own_page_only
from mvl.deploy.viewer.recording import Recording
from mvl.deploy.viewer.stage import Stage, path_color
from mvl.errors import MvlError, UsageError

TICKS = 30
"""Calls of `Page.tick` per second."""
SPEEDS = {"x 1/4": 0.25, "x 1/2": 0.5, "x 1": 1.0, "x 2": 2.0, "x 4": 4.0, "x 8": 8.0, "x 16": 16.0}
FLOOR = "Floor: V(s, goal), from dark (far) to bright (near)."
PIN, COPIES = "Goal: the orange pin.", "Goal: the pale copies; one that floats above an object shows the color it has to get."
PLAN = "Plan: gray nodes of the graph, the blue path, and the blue ball, which is the current sub-goal."

NOTES = "<div style='padding:0 0.75em 0.5em;font-size:0.875em;line-height:1.5'>{}</div>"


class Page:
    """The content of the page. `tick` reads the controls and updates the stages."""

    def __init__(self, server: Any, recordings: list[Recording]) -> None:
        self.server, self.recordings = server, recordings
        self.view = recordings[0].description.task.view
        self.stages: list[Stage] = []
        for number, recording in enumerate(recordings):
            offset = np.zeros(3)
            if self.stages:
                offset[self.view.side_axis] = 1.05 * np.ptp(self.stages[0].extent, axis=0)[self.view.side_axis]
            self.stages.append(Stage(server.scene, f"/run{number + 1}", recording, offset, self.view.side_axis))
        self._camera(offset)
        self._lights()
        self._controls()
        self.playing, self.clock, self.last_tick = False, 0.0, time.monotonic()
        self.shown: tuple[int, int, bool, bool] | None = None
        self.tick()

    def tick(self) -> None:
        """Update the stages to the controls; while an episode plays, also advance its time."""
        now = time.monotonic()
        elapsed, self.last_tick = now - self.last_tick, now
        selected = (
            self.task.options.index(self.task.value),
            int(self.number.value) - 1,
            bool(self.floor.value),
            bool(self.together.value),
        )
        with self.server.atomic():
            if selected != self.shown:
                self._show(*selected)
            self._play_or_pause(elapsed)
            for stage in self.stages:
                if stage.asked != int(self.slider.value):
                    stage.at(int(self.slider.value))

    def _show(self, task: int, number: int, floor: bool, together: bool) -> None:
        same = self.shown is not None and self.shown[:2] == (task, number)
        self.shown = (task, number, floor, together)
        if not same:
            self.slider.value, self.clock = 0, 0.0
        for stage in self.stages:
            others = [recording for recording in self.recordings if together and recording is not stage.recording]
            stage.show(task, number, floor, others)
        self.slider.max = max(stage.episode.length for stage in self.stages)

    def _play_or_pause(self, elapsed: float) -> None:
        end = int(self.slider.max)
        if self.button.value:  # it was pressed
            self.button.value, self.playing = False, not self.playing
            if self.playing and self.slider.value == end:
                self.slider.value = 0
        if self.slider.value != int(self.clock):  # it was moved
            self.clock = float(self.slider.value)
        if self.playing:
            self.clock = min(end, self.clock + elapsed * SPEEDS[self.speed.value] / self.stages[0].episode.step_seconds)
            self.slider.value = int(self.clock)
            self.playing = self.clock < end
        label = "Pause" if self.playing else "Play"
        if self.button.label != label:
            self.button.label = label

    def _controls(self) -> None:
        gui, first = self.server.gui, self.recordings[0]
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 110, 80))
        gui.main_panel.dock_right()
        gui.set_panel_label(str(first.description.task))
        tasks = [self._task_name(task) for task in range(len(first.episodes))]
        self.task = gui.add_dropdown("task", tasks, visible=len(tasks) > 1)
        episodes = len(first.episodes[0])
        self.number = gui.add_slider("episode", 1, max(2, episodes), 1, 1, visible=episodes > 1)
        self.slider = gui.add_slider("step", 0, 1, 1, 0)
        self.button = gui.add_button("Play")
        self.speed = gui.add_dropdown("speed", list(SPEEDS), initial_value=self.view.speed)
        valued = any(recording.values for recording in self.recordings)
        self.floor = gui.add_checkbox("value on the floor", valued, visible=valued)
        arms = len(self.recordings) > 1 and first.maze is None
        self.together = gui.add_checkbox("paths of both runs", arms, visible=arms)
        planned = first.maze is not None and any(recording.plans for recording in self.recordings)
        notes = [*map(_legend, self.recordings), *([FLOOR] if valued else []), PIN if first.maze else COPIES]
        notes += [PLAN] if planned else []
        gui.add_html(NOTES.format("".join(f"<p style='margin:0.5em 0'>{note}</p>" for note in notes)))

    def _task_name(self, task: int) -> str:
        """The task's number, and how often each run reached its goal."""
        counts = [[all(episode.success) for episode in recording.episodes[task]] for recording in self.recordings]
        return f"{task + 1}: " + ", ".join(f"{sum(count)} of {len(count)} reached" for count in counts)

    def _lights(self) -> None:
        """Plain lights, because reflections of an environment map are slow without a graphics card."""
        self.server.scene.configure_environment_map(None)
        self.server.scene.configure_default_lights(enabled=False)
        self.server.scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 160), intensity=1.9)
        above = self.stages[0].size * (0.8 * np.array(self.view.direction) + [-0.5, -0.3, 1.0])  # from behind the camera
        self.server.scene.add_light_directional("/sun", intensity=1.7, position=tuple(above), cast_shadow=True)

    def _camera(self, last: np.ndarray) -> None:
        """Point the camera at the middle of all stages, from far enough to see them; `last` is the offset of the last stage."""
        low, high = self.stages[0].extent[0], self.stages[-1].extent[1] + last
        middle = (low + high) / 2 + [0, 0, self.view.height * self.stages[0].size]
        size = np.ptp([low, high], axis=0)
        away = self.view.distance * max(self.stages[0].size, 0.85 * float(size[self.view.side_axis]))
        camera = self.server.initial_camera
        camera.position = middle + away * np.array(self.view.direction)
        camera.look_at, camera.fov = middle, np.radians(45)
        camera.near, camera.far = away / 200, 20 * away


def _legend(recording: Recording) -> str:
    """A line of HTML about a run. Its texts are escaped here; viser escapes all others on the page."""
    color = "#{:02x}{:02x}{:02x}".format(*path_color(recording))
    kind = "teal: mollified value" if recording.mollified else "purple: no mollifier"
    return (
        f"<b style='color:{color}'>{escape(recording.name)}</b>: {escape(recording.description.experiment.recipe_name)} ({kind})"
    )


@contextmanager
def serving(host: str, port: int | None) -> Iterator[Any]:
    """A viser server at this address; without a port, at 8080 or the next free one."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port or 0))
    except (OSError, OverflowError) as error:
        at = host if port is None else f"{host}, port {port}"
        raise UsageError(f"cannot listen at {at} ({error}); choose another with --host and --port.") from None
    # Viser prints messages of its own when it starts and stops.
    with own_page_only(host) as guarded, redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=8080 if port is None else port, verbose=False)
    server.request_share_url = lambda *_: None  # type: ignore[method-assign]  # a visitor must not make it public
    try:
        if not guarded:
            raise MvlError(f"viser {viser.__version__} cannot be kept from answering foreign pages; install viser 1.1.1.")
        yield server
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()


def address(server: Any) -> str:
    """The address of the page, for a browser."""
    host = server.get_host()
    return f"http://{f'[{host}]' if ':' in host else host}:{server.get_port()}"
