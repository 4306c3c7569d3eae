"""The arm on a table with a cube, as a MuJoCo model."""

from collections.abc import Callable
from functools import cache
from typing import Any

from mvl.tasks.panda.arm import OPENING, WORLD_BITS, arm_from_menagerie, arm_from_wheel, prepare

ARMS: dict[str, Callable[[], Any]] = {"wheel": arm_from_wheel, "menagerie": arm_from_menagerie}
"""Where the model of the arm comes from."""
SIDE = 0.04
"""Of the cube, in m."""
MASS = 0.1
"""Of the cube, in kg."""
OBJECT, PLACE = "cube", "place"
"""Names of the bodies of the cube, and of the mark where it is to be put."""
TIMESTEP = 0.005
TABLE = ((0.36, 0.0, -0.02), (0.5, 0.5, 0.02))
"""Center and half sides of the table, in m; its top is at height zero."""
RED, WOOD, FLOOR, GREEN = (0.84, 0.2, 0.16, 1.0), (0.76, 0.69, 0.6, 1.0), (0.6, 0.64, 0.68, 1.0), (0.2, 0.65, 0.35, 1.0)
assert SIDE < 2 * OPENING


@cache
def scene(arm: str, friction: float) -> Any:
    """The compiled model, shared by all environments of a process; `friction` is that of the joints, in Nm."""
    import mujoco

    spec = ARMS[arm]()
    prepare(spec, friction)
    box, world = mujoco.mjtGeom.mjGEOM_BOX, dict(zip(("contype", "conaffinity"), WORLD_BITS, strict=True))
    spec.option.timestep = TIMESTEP
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 20.0  # otherwise objects slip out of the hand
    floor = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "pos": (0, 0, TABLE[0][2] - TABLE[1][2]), "size": (3, 3, 0.1)}
    spec.worldbody.add_geom(name="floor", **floor, rgba=FLOOR, **world)
    spec.worldbody.add_geom(name="table", type=box, pos=TABLE[0], size=TABLE[1], rgba=WOOD, **world)
    sky = {"type": mujoco.mjtTexture.mjTEXTURE_SKYBOX, "builtin": mujoco.mjtBuiltin.mjBUILTIN_GRADIENT}
    spec.add_texture(name="sky", **sky, rgb1=(0.86, 0.9, 0.94), rgb2=(0.62, 0.7, 0.78), width=64, height=64)
    spec.worldbody.add_light(pos=(0.6, -0.8, 2.5), dir=(-0.1, 0.3, -1), diffuse=(0.6, 0.6, 0.6))
    cube = spec.worldbody.add_body(name=OBJECT)
    cube.add_freejoint(name=OBJECT)
    # Friction also against turning (condim 4), and hard contacts, whatever is touched (priority).
    hard = {"condim": 4, "friction": (1, 0.01, 0.001), "solref": (2 * TIMESTEP, 1), "priority": 1}
    cube.add_geom(type=box, size=[SIDE / 2] * 3, mass=MASS, rgba=RED, **hard, **world)
    mark = spec.worldbody.add_body(name=PLACE, mocap=True)
    size = (0.8 * SIDE, 0.0005, 0)
    mark.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=size, rgba=GREEN, contype=0, conaffinity=0)
    return spec.compile()
