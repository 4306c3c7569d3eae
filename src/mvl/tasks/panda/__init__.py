"""A simulated Franka Panda, after the paper's real one: a cube to grasp, or to put elsewhere, from 100 demonstrations."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mvl.data.episodes import Size
from mvl.data.raw import Recording
from mvl.errors import MvlError
from mvl.extras import missing
from mvl.tasks.ogbench import Published, alphas
from mvl.tasks.panda.arm import OPENING
from mvl.tasks.panda.disturbances import DISTURBED, IDEAL
from mvl.tasks.panda.environment import ARM, JOINTS, RATE, Job, Panda, make_env
from mvl.tasks.panda.scene import SIDE
from mvl.tasks.simulator import GymSimulator
from mvl.tasks.task import Settings, Task, ViewerCamera

LIMITS = {"reach-grasp": 200, "pick-place": 300}
"""Steps of an episode."""
VARIANTS = ("", "object", "menagerie")
"""The object is not seen; it is seen, and stands anywhere; as the first, with MuJoCo Menagerie's model of the arm."""
DEMONSTRATIONS = Size(episodes=100, rows=0, validation_episodes=10)
"""As many as in the paper."""
VIEW = ViewerCamera((0.74, -0.54, 0.4), 1.6, 0.3, 1, "x 1")


def job(name: str, sees_object: bool) -> Job:
    """The job `reach-grasp` or `pick-place`."""
    return Job(f"{name}-object" if sees_object else name, name == "pick-place", sees_object, LIMITS[name])


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(LIMITS, VARIANTS, (False, True))]


def _task(name: str, variant: str, disturbed: bool) -> Task:
    words = ["panda", name, *([variant] if variant else [])]
    dataset = "-".join([*words, "v0"])
    wanted, arm = job(name, variant == "object"), "menagerie" if variant == "menagerie" else "wheel"
    return Task(
        name="-".join([*words, "disturbed", "v0"]) if disturbed else dataset, dataset=dataset, world=f"panda-{name}",
        env=partial(make_env, wanted, DISTURBED if disturbed else IDEAL, arm), goals=5,
        simulator=PandaSimulator, limit=partial(int, wanted.limit), check=partial(check_installed, arm),
        generator=partial(_generator, wanted, arm), size=DEMONSTRATIONS, recording=recording,
        settings=settings, view=VIEW, camera=_camera,
    )  # fmt: skip


def settings(value: str) -> Settings:
    """OGBench's settings for an arm's play data, since the paper gives none for its arm; standardized, as own data is."""
    published = Published("play", alphas(1.0, 3.0, 0.3, 1.0), 1.0, expectile=0.7, subgoal_steps=10)
    found = published.settings(value)
    return found._replace(learning={**found.learning, "normalize": True})


def check_installed(arm: str = "wheel") -> None:
    """Raise MvlError if a package is missing."""
    model = "gymnasium_robotics" if arm == "wheel" else "mujoco_menagerie"
    absent = missing("gymnasium", "mujoco", "mink", model)
    if absent:
        raise MvlError(f"the Panda needs {' and '.join(absent)}; install with: pip install 'mollified-value-learning[robot]'")


def _generator(wanted: Job, arm: str) -> Any:
    from mvl.tasks.panda.demonstrator import PandaGenerator

    return PandaGenerator(wanted, arm)


def recording(columns: dict[str, np.ndarray]) -> Recording:
    """An episode as a lab records it: joints and gripper, commanded positions, and time, as in ALOHA's files."""
    rows = len(columns["commands"])
    arrays = {
        "observations/qpos": columns["observations"][:, :ARM],
        "action": columns["commands"],
        "timestamps": np.arange(rows) / RATE,
    }
    return Recording(arrays, {"hz": RATE, "sim": True})


def _camera(env: Any) -> Any:
    """The camera that films the table from the side, in front of the arm."""
    import mujoco

    view = mujoco.MjvCamera()
    view.lookat[:], view.distance, view.azimuth, view.elevation = (0.38, 0.0, 0.26), 1.36, 148, -23
    return view


class PandaSimulator(GymSimulator):
    """A Panda, with the state at its goal for the viewer."""

    @property
    def goal_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data at the end of the goal's demonstration."""
        import mujoco

        env: Panda = self.env.unwrapped
        data = mujoco.MjData(env.model)
        goal = env.goal.observation
        data.qpos[:JOINTS], data.qpos[-7:] = goal[:JOINTS], goal[ARM:]
        data.qpos[JOINTS : JOINTS + 2] = SIDE / 2 if goal[JOINTS] else OPENING
        mujoco.mj_forward(env.model, data)
        return env.model, data
