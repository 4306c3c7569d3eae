"""A run folder: the files that a run can be understood, continued and used from."""

import errno
import fcntl
import json
import os
import platform
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mvl.data.actions import ActionUnits
from mvl.data.inputs import Inputs
from mvl.data.normalization import Normalization
from mvl.errors import DamagedError, MvlError, NoSpaceError, UsageError
from mvl.experiment import Experiment
from mvl.files import atomic, open_unlinked, refuse_links, writable_folder
from mvl.nets.native.library import disabled_reason
from mvl.recipes.recipe import Recipe
from mvl.settings import as_flags
from mvl.tasks import Task
from mvl.types import Shapes

FORMAT = 1
"""Version of run.json and of what belongs to it; a change that earlier versions would misread raises it."""
REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space, then "),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "make it writable, then "),
}
"""What to do first, by the file system's error number."""
PACKAGES = ("mollified-value-learning", "jax", "jaxlib", "optax", "numpy", "ogbench", "mujoco", "gymnasium", "gymnasium-robotics")


@dataclass(frozen=True)
class Description:
    """What run.json describes: the experiment, and what was derived from its data before training."""

    experiment: Experiment
    fitted: Recipe
    """The experiment's recipe with the settings that come from the data filled in."""
    shapes: Shapes
    data: dict[str, Any]
    """Path and SHA-256 of the training file, units of its actions (`ActionUnits`), names and origin (`Inputs`), ranges.

    `added` are files with more demonstrations, each with `path`, `sha256` and `held_out`.
    """
    normalization: Normalization | None = None
    """How observations and goals are standardized; None if they are not."""
    parent: dict[str, Any] | None = None
    """The run that this one started from: `run`, `step`, and `changes` of settings as text; None if it started anew."""

    @property
    def task(self) -> Task:
        """The task to play; one of the user's own gets the units of its data."""
        task = self.experiment.task
        return replace(task, action_units=self.action_units, inputs=self.inputs) if task.is_own else task

    @property
    def action_units(self) -> ActionUnits:
        return ActionUnits.from_json(self.data)

    @property
    def inputs(self) -> Inputs:
        return Inputs.from_json(self.data)

    @property
    def command(self) -> str:
        """The shell command that repeats this training; data files are named without their folders."""
        if self.parent is None:
            return self.experiment.command()
        added = self.data["added"][-1]
        held_out = [] if added["held_out"] is None else ["--held-out", str(added["held_out"])]
        changed = as_flags(self.experiment.configured.settings(), self.parent["changes"])
        return shlex.join(["mvl", "train", Path(added["path"]).name, "--from", self.parent["run"], *held_out, *changed])

    def to_json(self) -> dict[str, Any]:
        described = self.experiment.to_json()
        options = self.experiment.data
        return {
            **described,
            "simulated": self.experiment.task.simulated,
            "data": {**self.data, "held_out": options.held_out, "mapped": bool(options.out_of_core)},
            "fitted": self.fitted.to_json(),
            "shapes": self.shapes._asdict(),
            "normalization": self.normalization and self.normalization.to_json(),
            **({"parent": self.parent} if self.parent else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Description":
        if not all(type(seed) is int for seed in data["seeds"]) or not isinstance(data["data"], dict):
            raise ValueError("seeds must be integers, and data an object")
        origin = {name: value for name, value in data["data"].items() if name not in ("held_out", "mapped")}
        normalization = data.get("normalization")
        options = {"held_out": data["data"]["held_out"], "out_of_core": data["data"].get("mapped", False)}
        return cls(
            experiment=Experiment.from_json({**data, "data": options}),
            fitted=Recipe.from_json(data["fitted"]),
            shapes=_shapes(data["shapes"]),
            data=origin,
            normalization=normalization and Normalization.from_json(normalization),
            parent=data.get("parent"),
        )


def _shapes(data: dict[str, Any]) -> Shapes:
    """Shapes from run.json, where version 0.1 wrote `seen` for `represented`, and neither levels nor images."""
    named = {"represented" if name == "seen" else name: value for name, value in data.items()}
    image = named.get("image")
    return Shapes(**{**named, "levels": tuple(named.get("levels", ())), "image": tuple(image) if image else None})


class RunFolder:
    """The files of a run. Only one process at a time may write to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.description_file = path / "run.json"
        self.checkpoint_file = path / "checkpoint.safetensors"
        self.metrics_file = path / "metrics.jsonl"
        self.evaluations_file = path / "evaluations.jsonl"
        self.timing_file = path / "timing.jsonl"
        self.surface_file = path / "surface.json"
        self.graph_file = path / "graph.safetensors"
        self.plans_file = path / "plans.json"
        self.variants_file = path / "variants.json"
        self.held_out_file = path / "held_out.json"
        self.tracking_file = path / "tracking.json"
        self.goals_file = path / "goals.json"
        self.lock_file = path / ".lock"

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is written, whether or not it exists."""
        rows = self.metrics_file, self.evaluations_file, self.timing_file
        return (
            self.lock_file,
            self.description_file,
            self.checkpoint_file,
            *rows,
            self.surface_file,
            self.graph_file,
            self.plans_file,
            self.variants_file,
            self.held_out_file,
            self.tracking_file,
            self.goals_file,
        )

    @staticmethod
    def check_new(path: Path) -> None:
        """Refuse a folder that is not empty; hidden files, which a killed process may have left, do not count."""
        if path.exists() and (not path.is_dir() or any(not file.name.startswith(".") for file in path.iterdir())):
            hint = f"continue it with: mvl train --resume {path}" if (path / "run.json").exists() else "choose another"
            raise MvlError(f"{path} exists already and is not empty; {hint}")
        writable_folder(path)

    @classmethod
    def create(cls, path: Path, description: Description) -> "RunFolder":
        """A new folder with its description in it."""
        folder = cls(path)
        with folder.writing(path):
            cls.check_new(path)
            path.mkdir(parents=True, exist_ok=True)
        with folder.locked():
            if folder.description_file.exists():
                raise MvlError(f"{path} was just made by another process; choose another folder.")
            folder.describe(description)
        return folder

    @classmethod
    def open(cls, path: Path) -> tuple["RunFolder", Description]:
        """An existing run, for reading."""
        folder = cls(path)
        try:
            if not folder.description_file.exists():
                raise MvlError(f"{path} is not a run folder: it has no run.json.")
            described = json.loads(folder.description_file.read_bytes())
            if is_newer(described["format"]):
                raise MvlError(
                    f"{folder.description_file}: written by a newer mvl (format {described['format']}, this one reads {FORMAT}); "
                    "update with: pip install --upgrade mollified-value-learning"
                )
            return folder, Description.from_json(described)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(f"{folder.description_file}: cannot be read ({error!r}).") from None
        except UsageError as error:
            raise UsageError(f"{folder.description_file}: {error}") from None
        except OSError as error:
            raise MvlError(f"{folder.description_file}: cannot be read ({error.strerror}).") from None

    def describe(self, description: Description) -> None:
        """Write run.json."""
        provenance = {"format": FORMAT, "versions": versions(), "git": git_state(), "kernels": not disabled_reason()}
        with self.writing(self.description_file), atomic(self.description_file) as partial:
            partial.write_text(json.dumps({**description.to_json(), **provenance}, indent=2) + "\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes within the block; if one of its files is a symbolic link, refuse."""
        with ExitStack() as stack:
            with self.writing(self.lock_file):
                refuse_links(*self.files)
                lock = stack.enter_context(open_unlinked(self.lock_file, "ab"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise MvlError(f"{self.path} is in use by another process; wait for it, or choose another folder.") from None
                self._remove_leftovers()
            yield

    def _remove_leftovers(self) -> None:
        """Remove unfinished files that a killed process left behind (see `mvl.files.atomic`)."""
        for file in self.files:
            for leftover in self.path.glob(f".{file.name}.*{file.suffix}"):
                leftover.unlink(missing_ok=True)

    @contextmanager
    def writing(self, file: Path) -> Iterator[None]:
        """Turn an error of the file system into one sentence: the file, the reason, and how to continue the run."""
        try:
            yield
        except (OSError, NoSpaceError) as error:
            number = (error.errno or errno.EIO) if isinstance(error, OSError) else errno.ENOSPC
            reason = os.strerror(number)
            way_out = f"{REMEDIES.get(number, '')}{self._how_to_continue()}"
            raise MvlError(f"{file} cannot be written ({reason[0].lower()}{reason[1:]}); {way_out}") from None

    def _how_to_continue(self) -> str:
        command = f"mvl train --resume {self.path}"
        if os.path.exists(self.checkpoint_file):  # unlike Path.exists, no error if the folder is not readable
            return f"continue from the last checkpoint, which is complete, with: {command}"
        if os.path.exists(self.description_file):
            return f"start again, as there is no checkpoint yet, with: {command}"
        return "train again in another folder" if os.path.isdir(self.path) else "train again, as the run's folder does not exist"


def is_newer(found: Any) -> bool:
    """Whether this format of a run is of a later version, whose entries may mean something else; ValueError if it is none."""
    if type(found) is not int or found < 1:
        raise ValueError(f"format {found}")
    return found > FORMAT


def versions() -> dict[str, str]:
    """Versions of Python, the platform and the packages that results depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def git_state() -> dict[str, Any] | None:
    """Commit of the source tree the package runs from and whether it has changes; None if installed from a wheel."""
    here = Path(__file__).parent

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=here, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)
        return {"commit": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None
