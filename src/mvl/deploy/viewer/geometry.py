"""Meshes of the objects in a MuJoCo model."""

from typing import Any, NamedTuple

import mujoco
import numpy as np
import trimesh

LAST_GROUP = 2
"""Geoms of later groups are only for collisions; MuJoCo's own viewer hides them too."""
SHARP_ANGLE = np.radians(35)
"""Faces at a larger angle to each other are drawn with a sharp edge."""
ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID, mujoco.mjtGeom.mjGEOM_CAPSULE)
"""Geoms without sharp edges."""
MARGIN = 0.08
"""Width of the floor around the objects on it, as a share of their extent."""


class Shape(NamedTuple):
    """Geoms of one body that have the same color at all times, as one mesh in the body's frame."""

    body: int
    geom: int
    """One of the geoms, to read the color from."""
    vertices: np.ndarray  # (v, 3)
    faces: np.ndarray  # (f, 3)


def shapes(model: Any, colors: np.ndarray) -> list[Shape]:
    """Shapes of all visible geoms except floors; geoms of a body are merged if their `colors` (times, geoms, 4) are equal."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for geom in range(model.ngeom):
        if _visible(model, geom) and colors[:, geom, 3].any():
            groups.setdefault((int(model.geom_bodyid[geom]), colors[:, geom].tobytes()), []).append(geom)
    return [_merged(model, body, geoms) for (body, _), geoms in groups.items()]


def moving(model: Any) -> np.ndarray:
    """Whether each body can move, (bodies,)."""
    return np.asarray(model.body_weldid != 0)


def ground(model: Any, drawn: list[Shape], states: list[np.ndarray]) -> np.ndarray:
    """Opposite corners (2, 3) of a floor under all shapes, in each of the states: poses of the bodies, (bodies, 7)."""
    points = [placed(shape.vertices, poses[shape.body])[:, :2] for shape in drawn for poses in states]
    low, high = np.min([part.min(axis=0) for part in points], axis=0), np.max([part.max(axis=0) for part in points], axis=0)
    margin = MARGIN * (high - low).max()
    height = model.geom_pos[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, 2].max()
    return np.array([[*(low - margin), height], [*(high + margin), height]])


def placed(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Points (n, 3) of a body with this pose (7,), in world coordinates."""
    moved: np.ndarray = points @ _rotation(pose[3:]).T + pose[:3]
    return moved


def _visible(model: Any, geom: int) -> bool:
    goal = model.geom(geom).name == "target" or model.body_mocapid[model.geom_bodyid[geom]] >= 0  # drawn by the stage
    return model.geom_group[geom] <= LAST_GROUP and model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE and not goal


def _merged(model: Any, body: int, geoms: list[int]) -> Shape:
    meshes = [_mesh(model, geom) for geom in geoms]
    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    vertices = np.concatenate([placed(mesh.vertices, _pose(model, geom)) for mesh, geom in zip(meshes, geoms, strict=True)])
    faces = np.concatenate([mesh.faces + first for mesh, first in zip(meshes, firsts, strict=True)])
    return Shape(body, geoms[0], vertices.astype(np.float32), faces.astype(np.uint32))


def _mesh(model: Any, geom: int) -> trimesh.Trimesh:
    """A geom in its own frame; only faces with a smooth transition share vertices."""
    size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
    mesh: trimesh.Trimesh
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=size[0])
    elif kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        mesh = trimesh.creation.icosphere(subdivisions=3).apply_scale(size)
    elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        mesh = trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=(16, 16))
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        mesh = trimesh.creation.cylinder(radius=size[0], height=2 * size[1])
    elif kind == mujoco.mjtGeom.mjGEOM_BOX:
        mesh = trimesh.creation.box(extents=2 * size)
    else:
        mesh = _asset_mesh(model, model.geom_dataid[geom])
    if kind not in ROUND:
        mesh = trimesh.graph.smooth_shade(mesh, angle=SHARP_ANGLE)
    return mesh


def _asset_mesh(model: Any, number: int) -> trimesh.Trimesh:
    """A mesh of the model that was read from a file."""
    first, first_face = model.mesh_vertadr[number], model.mesh_faceadr[number]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[number]]
    return trimesh.Trimesh(vertices, model.mesh_face[first_face : first_face + model.mesh_facenum[number]])


def _pose(model: Any, geom: int) -> np.ndarray:
    return np.concatenate([model.geom_pos[geom], model.geom_quat[geom]])


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion.astype(np.float64))
    return matrix.reshape(3, 3)
