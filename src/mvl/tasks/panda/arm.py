"""The Franka Panda in MuJoCo: built from Franka's published kinematics with meshes of a wheel, or MuJoCo Menagerie's model."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.errors import MvlError

JOINTS = tuple(f"joint{number}" for number in range(1, 8))
FINGERS = ("finger_joint1", "finger_joint2")
TIP = "end_effector"
"""Site between the tips of the fingers."""
HOME = (0.0, -0.2, 0.0, -2.2, 0.0, 2.0, np.pi / 4)
"""Joint positions at the start of an episode, in rad: the hand points down, in front of the arm."""
OPENING = 0.04
"""Way of each finger, in m."""
MENAGERIE_ID = "3d2262eeb81ecec19abfa31dd509e35abbb33e67"
"""Git tree of the `franka_emika_panda` folder in MuJoCo Menagerie that the tasks `-menagerie` are made with."""
WHITE, DARK = (0.93, 0.94, 0.95, 1.0), (0.25, 0.26, 0.28, 1.0)
ARM_BITS, WORLD_BITS = (1, 0), (2, 3)
"""MuJoCo's contype and conaffinity: the arm touches the world but not itself."""


class Link(NamedTuple):
    """A link of the arm, and the joint that moves it."""

    position: tuple[float, float, float]
    """Origin in the frame of the link before, in m (Franka's Denavit-Hartenberg parameters)."""
    turn: int
    """Rotation about the x axis in the frame of the link before, in quarter turns."""
    low: float
    high: float
    """Range of the joint, in rad."""
    mass: float
    """In kg, as identified by Gaz et al. (2019)."""


LINKS = (
    Link((0.0, 0.0, 0.333), 0, -2.8973, 2.8973, 4.97),
    Link((0.0, 0.0, 0.0), -1, -1.7628, 1.7628, 0.65),
    Link((0.0, -0.316, 0.0), 1, -2.8973, 2.8973, 3.23),
    Link((0.0825, 0.0, 0.0), 1, -3.0718, -0.0698, 3.59),
    Link((-0.0825, 0.384, 0.0), -1, -2.8973, 2.8973, 1.23),
    Link((0.0, 0.0, 0.0), 1, -0.0175, 3.7525, 1.67),
    Link((0.088, 0.0, 0.0), 1, -2.8973, 2.8973, 0.74),
)
BASE_MASS, HAND_MASS, FINGER_MASS = 0.63, 0.73, 0.1
HAND_HEIGHT, FINGER_HEIGHT, TIP_HEIGHT = 0.107, 0.0584, 0.1034
"""Distance of the hand from the last joint, of the fingers from the hand, and of the tip from the hand, in m."""
PAD = ((0.0, 0.006, 0.0445), (0.0085, 0.006, 0.0085))
"""Center and half sides of the box that a finger touches objects with, in the finger's frame."""
STIFFNESS = (4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0)
"""Of the joints' position control, in Nm / rad."""
TORQUES = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
"""Largest torques of the joints, in Nm (Franka)."""
GRIPPER_STIFFNESS, GRIPPER_FORCE = 2000.0, 35.0
"""Of each finger, in N / m and N."""
ARMATURE, DAMPING = 0.1, 1.0


def arm_from_wheel() -> Any:
    """The arm as an MjSpec, with the meshes of the wheel gymnasium-robotics."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree, spec.meshdir = False, str(_mesh_folder())
    base = spec.worldbody.add_body(name="link0")
    _shell(spec, base, "link0", BASE_MASS)
    body = base
    for number, link in enumerate(LINKS, start=1):
        body = body.add_body(name=f"link{number}", pos=link.position, quat=_quarter_turns(link.turn))
        body.add_joint(name=f"joint{number}", axis=(0, 0, 1), range=(link.low, link.high), armature=ARMATURE, damping=DAMPING)
        _shell(spec, body, f"link{number}", link.mass)
    hand = body.add_body(name="hand", pos=(0, 0, HAND_HEIGHT), quat=_about_z(-np.pi / 4))
    _shell(spec, hand, "hand", HAND_MASS)
    for name, joint, angle in zip(("left_finger", "right_finger"), FINGERS, (0.0, np.pi), strict=True):
        finger = hand.add_body(name=name, pos=(0, 0, FINGER_HEIGHT), quat=_about_z(angle))
        finger.add_joint(
            name=joint, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0, 1, 0), range=(0, OPENING), armature=ARMATURE, damping=DAMPING
        )
        _finger(spec, finger)
    spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=FINGERS[0], name2=FINGERS[1], data=[0, 1] + [0] * 9)
    return spec


def arm_from_menagerie() -> Any:
    """MuJoCo Menagerie's arm as an MjSpec; downloaded at its first use, or taken from the folder `$MENAGERIE_ROOT`."""
    import mujoco_menagerie

    robot = mujoco_menagerie.get("franka_emika_panda")
    if robot.oid != MENAGERIE_ID:
        raise MvlError(
            f"mujoco-menagerie {mujoco_menagerie.__version__} has another model of the Panda than these tasks were made with; "
            "install the version that has it with: pip install 'mollified-value-learning[robot]'"
        )
    try:
        spec = robot.spec("panda")
    except mujoco_menagerie.MenagerieError as error:
        raise MvlError(
            f"MuJoCo Menagerie's Panda cannot be had ({error}); put the folder franka_emika_panda of "
            "MuJoCo Menagerie into a folder and set $MENAGERIE_ROOT to it, or use the task without -menagerie."
        ) from None
    for element in (*spec.actuators, *spec.tendons, *spec.keys, *spec.lights):
        spec.delete(element)
    return spec


def prepare(spec: Any, friction: float = 0.0) -> None:
    """Add to an arm what the tasks need: position control, gravity compensation, the tip's site, and `friction` in Nm."""
    import mujoco

    for body in spec.bodies[1:]:
        body.gravcomp = 1.0  # as the arm's own controller does
        for geom in body.geoms:
            if geom.contype:
                geom.contype, geom.conaffinity = ARM_BITS
    spec.body("hand").add_site(name=TIP, pos=(0, 0, TIP_HEIGHT), size=(0.005, 0, 0), group=5)
    for name, stiffness, torque in zip(JOINTS, STIFFNESS, TORQUES, strict=True):
        spec.joint(name).frictionloss = friction
        _servo(spec, name, stiffness, 0.04 * stiffness, torque)
    for name in FINGERS:
        _servo(spec, name, GRIPPER_STIFFNESS, 0.05 * GRIPPER_STIFFNESS, GRIPPER_FORCE)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST


def _servo(spec: Any, joint: str, stiffness: float, damping: float, limit: float) -> None:
    """Position control of a joint: a spring to the target, and a damper."""
    import mujoco

    spec.add_actuator(
        name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        gainprm=[stiffness] + [0] * 9, biasprm=[0, -stiffness, -damping] + [0] * 7,
        forcelimited=True, forcerange=(-limit, limit),
    )  # fmt: skip


def _mesh_folder() -> Path:
    found = importlib.util.find_spec("gymnasium_robotics")
    assert found is not None, "check_installed was called"
    assert found.origin is not None
    return Path(found.origin).parent / "envs" / "assets" / "kitchen_franka" / "franka_assets" / "meshes"


def _mesh(spec: Any, kind: str, part: str) -> str:
    """Name of a mesh, which is added to the model if it is not in it."""
    name = f"{part}_{kind}"
    if spec.mesh(name) is None:
        spec.add_mesh(name=name, file=f"{kind}/{part}.stl")
    return name


def _shell(spec: Any, body: Any, part: str, mass: float) -> None:
    """What a link looks like, and what touches: a convex hull, from which its inertia is computed."""
    import mujoco

    mesh, color = mujoco.mjtGeom.mjGEOM_MESH, WHITE
    body.add_geom(type=mesh, meshname=_mesh(spec, "visual", part), contype=0, conaffinity=0, group=2, mass=0, rgba=color)
    body.add_geom(type=mesh, meshname=_mesh(spec, "collision", part), group=3, mass=mass)


def _finger(spec: Any, body: Any) -> None:
    import mujoco

    mesh, box = mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_BOX
    body.add_geom(type=mesh, meshname=_mesh(spec, "visual", "finger"), contype=0, conaffinity=0, group=2, mass=0, rgba=DARK)
    body.add_geom(type=box, pos=PAD[0], size=PAD[1], group=3, mass=FINGER_MASS)


def _quarter_turns(count: int) -> tuple[float, float, float, float]:
    """Quaternion of a rotation about the x axis."""
    return np.cos(count * np.pi / 4), np.sin(count * np.pi / 4), 0.0, 0.0


def _about_z(angle: float) -> tuple[float, float, float, float]:
    """Quaternion of a rotation about the z axis."""
    return np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)
