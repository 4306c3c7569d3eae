"""Meshes of what MuJoCo simulates, made from its model."""

from typing import Any, NamedTuple

import mujoco
import numpy as np
import trimesh

LAST_GROUP = 2
"""Geoms of later groups are there to collide, and MuJoCo's own viewer hides them too."""
SHARP = np.radians(35)
"""Faces that meet at more than this are drawn with an edge between them."""

MARGIN = 0.08
"""Of the floor, around what stands on it."""


class Shape(NamedTuple):
    """Geoms of one body that always have one color, as one mesh in the body's frame."""

    body: int
    geom: int
    """One of them, whose color is that of all."""
    vertices: np.ndarray  # (v, 3)
    faces: np.ndarray  # (f, 3)


def shapes(model: Any, colors: np.ndarray) -> list[Shape]:
    """All that is to be seen, without floors; `colors` (times, geoms, 4) tells which geoms change theirs together."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for geom in range(model.ngeom):
        if _visible(model, geom) and colors[:, geom, 3].any():
            groups.setdefault((int(model.geom_bodyid[geom]), colors[:, geom].tobytes()), []).append(geom)
    return [_merged(model, body, geoms) for (body, _), geoms in groups.items()]


def moving(model: Any) -> np.ndarray:
    """Which bodies can move."""
    return model.body_weldid != 0  # (bodies,)


def ground(model: Any, drawn: list[Shape], looks: list[np.ndarray]) -> np.ndarray:
    """Corners (2, 3) of the floor: as far as what stands on it in any of those poses (bodies, 7), and a little more."""
    spots = [placed(shape.vertices, poses[shape.body])[:, :2] for shape in drawn for poses in looks]
    low, high = np.min([spot.min(axis=0) for spot in spots], axis=0), np.max([spot.max(axis=0) for spot in spots], axis=0)
    more = MARGIN * (high - low).max()
    height = model.geom_pos[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, 2].max()
    return np.array([[*(low - more), height], [*(high + more), height]])


def placed(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Points of a body (n, 3) in the world."""
    return points @ _rotation(pose[3:]).T + pose[:3]


def _visible(model: Any, geom: int) -> bool:
    goal = model.geom(geom).name == "target" or model.body_mocapid[model.geom_bodyid[geom]] >= 0  # drawn in our own way
    return model.geom_group[geom] <= LAST_GROUP and model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE and not goal


def _merged(model: Any, body: int, geoms: list[int]) -> Shape:
    meshes = [_mesh(model, geom) for geom in geoms]
    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    vertices = np.concatenate([placed(mesh.vertices, _pose(model, geom)) for mesh, geom in zip(meshes, geoms, strict=True)])
    faces = np.concatenate([mesh.faces + first for mesh, first in zip(meshes, firsts, strict=True)])
    return Shape(body, geoms[0], vertices.astype(np.float32), faces.astype(np.uint32))


def _mesh(model: Any, geom: int) -> trimesh.Trimesh:
    """A geom in its own frame, its vertices shared only between faces that go smoothly into each other."""
    size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return trimesh.creation.icosphere(subdivisions=3, radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return trimesh.creation.icosphere(subdivisions=3).apply_scale(size)
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=(16, 16))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        mesh = trimesh.creation.cylinder(radius=size[0], height=2 * size[1])
    elif kind == mujoco.mjtGeom.mjGEOM_BOX:
        mesh = trimesh.creation.box(extents=2 * size)
    else:
        mesh = _of_file(model, model.geom_dataid[geom])
    return trimesh.graph.smooth_shade(mesh, angle=SHARP)


def _of_file(model: Any, number: int) -> trimesh.Trimesh:
    first, first_face = model.mesh_vertadr[number], model.mesh_faceadr[number]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[number]]
    return trimesh.Trimesh(vertices, model.mesh_face[first_face : first_face + model.mesh_facenum[number]])


def _pose(model: Any, geom: int) -> np.ndarray:
    return np.concatenate([model.geom_pos[geom], model.geom_quat[geom]])


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion.astype(np.float64))
    return matrix.reshape(3, 3)
