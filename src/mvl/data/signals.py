"""What the dimensions of observations, actions and goals mean: names, units and rate, from the import to the policy."""

from typing import Any, NamedTuple


class Signal(NamedTuple):
    """A named group of dimensions, such as the joint positions of an arm."""

    name: str
    labels: tuple[str, ...]
    """A name for each dimension; that of the signal itself if there is only one."""
    unit: str = ""
    """Unit of all its dimensions, such as rad; empty: not known."""
    levels: tuple[float, ...] = ()
    """For a discrete action: the values it takes in the units of the source; the data has their indices. Empty: continuous."""


class Signals(NamedTuple):
    """The signals of a dataset, in the order of its dimensions, and its rate."""

    observations: tuple[Signal, ...] = ()
    actions: tuple[Signal, ...] = ()
    goals: tuple[Signal, ...] = ()
    """Empty: a goal is an observation."""
    hz: float | None = None
    """Rows per second, if known."""

    def to_json(self) -> dict[str, Any]:
        groups = {kind: [signal._asdict() for signal in getattr(self, kind)] for kind in KINDS}
        return {**groups, "hz": self.hz}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Signals":
        groups = {kind: tuple(map(_signal, data[kind])) for kind in KINDS}
        return cls(**groups, hz=data["hz"])


KINDS = ("observations", "actions", "goals")


def _signal(data: dict[str, Any]) -> Signal:
    return Signal(data["name"], tuple(data["labels"]), data["unit"], tuple(data["levels"]))


def dimension_names(signals: tuple[Signal, ...]) -> list[str]:
    """A name with unit for each dimension: `joint_3 (rad)`."""
    return [f"{label} ({signal.unit})" if signal.unit else label for signal in signals for label in signal.labels]
