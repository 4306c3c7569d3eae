"""Exported policies on a robot computer: `mvl.runtime.load("policy.onnx").act(observation, goal)`.

Needs NumPy and onnxruntime alone, not JAX. Beside `policy.onnx` may lie `policy.value.onnx` and `policy.plan.npz`, which
`mvl export` writes together.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mvl.data.signals import Signals, numbers, source_vector
from mvl.errors import DamagedError, MvlError, UsageError
from mvl.extras import check_runtime
from mvl.learn.execution import EXECUTIONS, Recent
from mvl.planning.following import Follower
from mvl.planning.roadmap import Graph, Roadmap

FORMAT = 1
SEAL = b"\x72\x4a\x0a\x06sha256\x12\x40"
"""Begins the last entry of an exported file's metadata, which is the SHA-256 of all before it."""
DIGITS = 64

Given = ArrayLike | Mapping[str, ArrayLike]
"""An observation or a goal in the units of the source: an array, or its parts by name."""


def sealed(content: bytes) -> bytes:
    """An ONNX file with its checksum as a further entry of its metadata."""
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


class Model:
    """An exported ONNX file, ready to run."""

    def __init__(self, data: bytes, name: str) -> None:
        """`name` is for messages."""
        check_runtime(name)
        import onnxruntime

        content, seal = data[: -DIGITS - len(SEAL)], data[-DIGITS - len(SEAL) :]
        if not seal.startswith(SEAL):
            raise DamagedError(f"{name}: not a whole file of `mvl export`; copy it again, or export the run again.")
        if sealed(content) != data:
            raise DamagedError(f"{name}: its content has changed since it was written; copy it again, or export the run again.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # threads would take longer to wake than these networks to run
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            self.about: dict[str, Any] = json.loads(self.session.get_modelmeta().custom_metadata_map["mvl"])
        except Exception as error:  # onnxruntime has an exception of its own for each of many reasons
            reason = str(error).splitlines()[0][:200]
            raise MvlError(
                f"{name}: cannot be run by onnxruntime {onnxruntime.__version__} ({reason}); try a newer one."
            ) from None
        _check_format(self.about, name)
        self.digest = seal[-DIGITS:].decode()
        self.sizes = {one.name: one.shape[-1] for one in self.session.get_inputs()}
        self.dtypes = {
            one.name: np.dtype(one.type[7:-1].replace("float", "float32").replace("double", "float64"))
            for one in self.session.get_inputs()
        }
        self.outputs = [one.name for one in self.session.get_outputs()]

    def run(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by name, given all inputs by name as rows (n, size)."""
        feeds = {name: np.ascontiguousarray(array, self.dtypes[name]) for name, array in arrays.items()}
        return dict(zip(self.outputs, self.session.run(None, feeds), strict=True))

    @property
    def noise(self) -> dict[str, int]:
        """Inputs for numbers of a normal distribution, and how many a row has."""
        return {name: size for name, size in self.sizes.items() if name not in ("observation", "goal")}


def _check_format(about: Any, name: str) -> None:
    found = about.get("format") if isinstance(about, dict) else None
    if found != FORMAT:
        raise MvlError(
            f"{name}: export format {found}, but this mvl reads {FORMAT}; export the run again, or use the mvl that wrote it."
        )


class _Edges(NamedTuple):
    """The arrays of a sparse matrix with compressed rows."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def companions(policy: Path) -> tuple[Path, Path]:
    """The files of the value and of the planner beside that of a policy."""
    return policy.with_suffix(".value.onnx"), policy.with_suffix(".plan.npz")


class Policy:
    """An exported policy; its random draws are seeded, so the same calls in the same order give the same actions."""

    def __init__(
        self, policy: Model, value: Model | None = None, planner: Follower | None = None, execute: str = "", seed: int = 0
    ) -> None:
        """`execute` says how chunks are executed, `open` or `blended`; by default as in the run's evaluations."""
        about = self.about = policy.about
        """What the file says: names and units, rate, sizes, recipe, version."""
        self.signals = about["signals"] and Signals.from_json(about["signals"])
        self._policy, self._value, self._follower = policy, value, planner
        self._levels: list[list[float]] = about["action_levels"] or [[]] * about["action_size"]
        self._execution = EXECUTIONS[execute or about["execute"]](about["chunk"])
        self._recent, self._draws = Recent(about["history"]), np.random.default_rng(seed)
        self._goals: np.ndarray | None = None

    def act(self, observation: Given, goal: Given) -> np.ndarray:
        """Actions (..., a) for observations (..., d) and goals (..., g), or for one of each, in the units of the source.

        A policy that plans, answers chunks or has a history remembers, as the one of `mvl.load_policy` does.
        """
        pursued = self._pursued(*self._checked(observation, goal))
        return self._joined(self._execution.next(lambda: self._split(self._asked(*pursued))))

    def act_chunk(self, observation: Given, goal: Given) -> np.ndarray:
        """All actions that the policy answers now, (..., steps, a); the chunk of `act` goes on."""
        return self._asked(*self._pursued(*self._checked(observation, goal)))

    def value(self, observation: Given, goal: Given) -> np.ndarray:
        """V(observation, goal), (...)."""
        if self._value is None:
            raise UsageError("this policy was exported without a value; export a recipe that learns one.")
        states, goals = self._checked(observation, goal)
        if states.shape[-1] < self._policy.sizes["observation"]:
            states = np.tile(states, self.about["history"])
        return evaluated(self._value, "value", states, goals)

    @property
    def reachable(self) -> bool:
        """Whether the planner knows a path to the last goal of each row; true for a policy that does not plan."""
        return self._follower is None or self._goals is None or bool(self._follower.reachable.all())

    def reset(self) -> None:
        """Forget the path to the last goal, the actions under way and earlier observations, because a new episode begins."""
        self._goals = None
        self._execution.reset()
        self._recent.reset()

    def _asked(self, states: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """The network's answer, (..., steps, a)."""
        shape = np.broadcast_shapes(states.shape[:-1], goals.shape[:-1])
        rows = {"observation": _rows(states, shape), "goal": _rows(goals, shape)}
        count = len(rows["goal"])
        noise = {name: self._draws.standard_normal((count, size)) for name, size in self._policy.noise.items()}
        found = self._policy.run({**rows, **noise})["actions"]
        return found.reshape(*shape, *found.shape[1:])

    def _pursued(self, states: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states, with their history, and the goals to pursue now: those given, or sub-goals of a plan."""
        if states.shape[-1] < self._policy.sizes["observation"]:
            states = self._recent.add(states)
        shape = np.broadcast_shapes(states.shape[:-1], goals.shape[:-1])
        rows, wanted = _rows(states, shape), _rows(goals, shape)
        if self._goals is None or not np.array_equal(self._goals, wanted):
            self._execution.reset()
            self._goals = wanted.copy()
            if self._follower:
                self._follower.begin(rows, wanted)
        return states, self._follower.subgoals(rows).reshape(*shape, -1) if self._follower else goals

    def _split(self, actions: np.ndarray) -> np.ndarray:
        """Actions in which each discrete dimension is a number for each level, 1 for its own, so that they can be averaged."""
        pieces = [
            np.equal(column[..., None], np.asarray(levels, np.float32)) if levels else column[..., None]
            for column, levels in zip(np.moveaxis(actions, -1, 0), self._levels, strict=True)
        ]
        return np.concatenate(pieces, axis=-1, dtype=np.float32)

    def _joined(self, numbers: np.ndarray) -> np.ndarray:
        """The inverse of `_split`; of several levels the one with the largest number."""
        pieces = np.split(numbers, np.cumsum([len(levels) or 1 for levels in self._levels])[:-1], axis=-1)
        pairs = zip(pieces, self._levels, strict=True)
        columns = [np.asarray(levels, np.float32)[piece.argmax(-1)] if levels else piece[..., 0] for piece, levels in pairs]
        return np.stack(columns, axis=-1)

    def _checked(self, observation: Given, goal: Given) -> tuple[np.ndarray, np.ndarray]:
        """Both as finite arrays of the expected sizes; anything else is refused."""
        return self._array(observation, "observation", self.about["history"]), self._array(goal, "goal", 1)

    def _array(self, given: Given, what: str, count: int) -> np.ndarray:
        if isinstance(given, Mapping):
            if self.signals is None:
                raise UsageError(f"{what} is given by names, but the data of this policy has none; give an array.")
            named = self.signals.goals if what == "goal" and self.signals.goals else self.signals.observations
            array = source_vector(named, given, what)
        else:
            array = numbers(given, what)
        whole = self._policy.sizes[what]
        if array.ndim == 0 or array.shape[-1] not in (whole, whole // count):
            raise UsageError(f"{what} has shape {array.shape}; its last axis must have length {whole // count}.")
        with np.errstate(over="ignore"):
            array = array.astype(self._policy.dtypes[what])
        if not np.isfinite(array).all():
            raise UsageError(f"{what} has a value that is not finite; give finite numbers.")
        return array


def _rows(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(..., d) broadcast to the leading axes `shape`, as rows."""
    return np.broadcast_to(array, (*shape, array.shape[-1])).reshape(-1, array.shape[-1])


def evaluated(value: Model, output: str, states: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """`value` or `steps` of states (..., d) and goals (..., g), whose leading axes are broadcast; noise is zero."""
    shape = np.broadcast_shapes(states.shape[:-1], goals.shape[:-1])
    pair = {"observation": states, "goal": goals}
    rows = {name: array.reshape(1, -1) if array.size == array.shape[-1] else _rows(array, shape) for name, array in pair.items()}
    found = value.run({**rows, **{name: np.zeros((1, size)) for name, size in value.noise.items()}})[output]
    return found.reshape(shape)


def load(path: Path | str, plan: str | None = None, execute: str = "", seed: int = 0) -> Policy:
    """The policy of a file of `mvl export`; it plans if a planner was exported with it, unless `plan` is `none`."""
    policy_file = Path(path)
    value_file, plan_file = companions(policy_file)
    policy = Model(policy_file.read_bytes(), str(policy_file))
    value = Model(value_file.read_bytes(), str(value_file)) if value_file.exists() else None
    if value:
        _check_belongs(value.about, policy, value_file)
    if plan == "none" or (plan is None and not plan_file.exists()):
        return Policy(policy, value, None, execute, seed)
    if not plan_file.exists():
        raise UsageError(f"there is no {plan_file}; export the run with --plan graph, or load without a plan.")
    if value is None:
        raise UsageError(f'{plan_file} needs {value_file}, which is not there; copy it too, or load with plan="none".')
    return Policy(policy, value, _planner(plan_file, policy, value), execute, seed)


def _check_belongs(about: Any, policy: Model, file: Path) -> None:
    _check_format(about, str(file))
    if about.get("policy") != policy.digest:
        raise UsageError(f"{file} was exported with another policy; copy all files of one export, or export the run again.")


def _planner(file: Path, policy: Model, value: Model) -> Follower:
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
            about = json.loads(str(arrays["about"]))
            _check_belongs(about, policy, file)
            edges = _Edges(arrays["lengths"], arrays["columns"], arrays["bounds"])
            roadmap = Roadmap(arrays["observations"], arrays["goals"], edges, about["unit"])
            graph = Graph(**about["graph"])
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{file}: not a readable plan ({error!r}); copy it again, or export the run again.") from None
    return Follower(graph, roadmap, lambda states, goals: evaluated(value, "steps", states, goals))
