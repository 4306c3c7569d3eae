"""A recipe: four parts and how they are trained. Parts that do not fit together raise an error when it is built."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from mvl import registry
from mvl.batches import BatchRequest, GoalMix
from mvl.checks import COUNT, INSIDE_UNIT, NATURAL, NOT_NEGATIVE, UNIT, check_settings
from mvl.encoders.identity import Identity
from mvl.errors import UsageError, unknown
from mvl.types import (
    ComparesActions,
    EncodesImages,
    FitsData,
    HasSurface,
    ImageShape,
    Policy,
    Regresses,
    Regularizer,
    Representation,
    Statistics,
    Value,
    offered,
)


@dataclass(frozen=True)
class Learning:
    """How the parts are trained together: one Adam over the sum of their losses."""

    batch_size: int = 1024
    """Transitions per step."""
    learning_rate: float = 3e-4
    """Adam's step size."""
    discount: float = 0.99
    """Discount factor; goals drawn geometrically lie 1 / (1 - discount) steps ahead on average."""
    target_rate: float = 0.005
    """Rate of the target networks: the share of the parameters that enters their moving average each step."""
    regularizer_start: int = 0
    """Steps that the value is trained before the regularizer is added."""
    normalize: bool | None = None
    """Standardize observations and goals by their mean and standard deviation in the training data; None: only for own data."""
    chunk: int = 1
    """How many successive actions the policy answers at once, for data at a high rate."""
    history: int = 1
    """How many of the last observations make up a state, for data without velocities; goals are single observations."""
    value_goals: GoalMix | None = None
    """Distribution of the goals that the value is trained on (default: that of the value's method)."""
    actor_goals: GoalMix = GoalMix(current=0.0, trajectory=1.0, random=0.0, geometric=False)
    """Distribution of the goals that the policy is trained on."""

    def __post_init__(self) -> None:
        check_settings(self, batch_size=COUNT, learning_rate=NOT_NEGATIVE, discount=INSIDE_UNIT, target_rate=UNIT)
        check_settings(self, regularizer_start=NATURAL, chunk=COUNT, history=COUNT)


SURFACES = frozenset({"state_value", "critic"})
"""Value functions of which a value must offer one, to be regularized or plotted."""


@dataclass(frozen=True)
class Recipe:
    """A learner as four independent choices. What cannot work together is refused when it is made, with what would fit."""

    representation: Representation
    regularizer: Regularizer
    value: Value
    policy: Policy
    learning: Learning = field(default_factory=Learning)
    encoder: Any = Identity()
    """What networks get in place of images (`EncodesImages`); `identity` for observations that are numbers."""

    def __post_init__(self) -> None:
        if missing := self.policy.needs - offered(self.value):
            raise UsageError(self._misfit("policy", self.policy, " and ".join(sorted(missing)), missing.__le__))
        if not self.has_surface and registry.name_of("regularizer", self.regularizer) != "none":
            raise UsageError(self._misfit("regularizer", self.regularizer, "a surface", SURFACES.intersection))
        if not offered(self.value) and self.representation.shaped_by_value:
            raise UsageError(self._misfit("representation", self.representation, "a loss to shape it", bool))
        if self.value.crosses_goals and self.representation.looks_at_state:
            named = registry.name_of("value", self.value), registry.name_of("representation", self.representation)
            raise UsageError(
                f"value {named[0]} evaluates every state with every goal, but goals of representation {named[1]} "
                f"depend on the state; representations that fit: {', '.join(_fixed_representations())}."
            )
        if self.value.request.midpoints and self.value_goals.trajectory < 1:
            name = registry.name_of("value", self.value)
            raise UsageError(f"value {name} needs goals ahead in the same episode: a trajectory share of 1.")
        if self.learning.chunk > 1:
            self._check_chunk()
        if getattr(self.regularizer, "needs_target", False):
            self._check_target()
        if isinstance(self.encoder, EncodesImages):
            self._check_fusion(self.encoder.fusion == "early")

    def _check_fusion(self, early: bool) -> None:
        """Refuse parts that need an observation or a goal alone, if the encoder fuses them; and histories, if it does not."""
        late = "choose --encoder.fusion late"
        if not early and self.learning.history > 1:
            raise UsageError("one encoder of single images cannot read a history; choose --encoder.fusion early.")
        if not early:
            return
        if registry.name_of("representation", self.representation) != "identity":
            raise UsageError(f"early fusion encodes a goal together with the observation, so no goal can be represented; {late}.")
        if offered(self.value) and (not isinstance(self.value, Regresses) or "critic" in offered(self.value)):
            name = registry.name_of("value", self.value)
            raise UsageError(f"early fusion needs a value of states alone with target networks, which {name} is not; {late}.")
        if not self.policy.needs <= {"advantage"} or self.policy.request.waypoint_steps:
            name = registry.name_of("policy", self.policy)
            raise UsageError(f"policy {name} asks the value about other states, which early fusion does not encode; {late}.")

    def check_plan(self) -> None:
        """Refuse early fusion, with which a planner would encode every pair of its nodes."""
        if isinstance(self.encoder, EncodesImages) and self.encoder.fusion == "early":
            raise UsageError(
                "a plan asks for the steps between all pairs of its states, but early fusion encodes every pair anew; "
                "train with a fusion that is late, or choose --plan none."
            )

    def _check_chunk(self) -> None:
        """Refuse a policy or a value that knows single actions only."""
        if not getattr(self.policy, "chunks", False):
            name, able = registry.name_of("policy", self.policy), self._policies_with("chunks")
            raise UsageError(f"policy {name} chooses one action at a time; for chunks choose from {able}, or leave out --chunk.")
        if "advantage" in self.policy.needs and "state_value" not in offered(self.value):
            need = "a state value, whose rise is the advantage of a chunk"
            raise UsageError(self._misfit("policy", self.policy, need, frozenset({"state_value"}).__le__))

    def _check_target(self) -> None:
        """Refuse surfaces without a target network."""
        part = registry.name_of("regularizer", self.regularizer)
        need = f"regularizer {part} with these settings needs a target network of the surface"
        if isinstance(self.representation, HasSurface) and self.representation.regularized != "downstream":
            name = registry.name_of("representation", self.representation)
            raise UsageError(f"{need}, which representation {name} has not; choose regularized=downstream.")
        if not getattr(self.value, "target_surface", False):
            every = {name: registry.part_class("value", name) for name in registry.names("value")}
            able = ", ".join(name for name, part in every.items() if getattr(part, "target_surface", False))
            raise UsageError(f"{need}, which value {registry.name_of('value', self.value)} has not; values that do: {able}.")

    @property
    def has_surface(self) -> bool:
        """Whether there is a value that can be regularized and plotted."""
        return bool(offered(self.value) & SURFACES)

    @property
    def value_goals(self) -> GoalMix:
        return self.learning.value_goals or self.value.goal_mix

    @property
    def request(self) -> BatchRequest:
        """What these parts need in a batch."""
        rep = self.representation.request
        goals = None if rep.reuse_value_goals and self.value_goals.current > 0 else rep.goals
        midpoints, steps = self.value.request.midpoints, self.policy.request.waypoint_steps
        return BatchRequest(goals, False, rep.windows, midpoints, steps, self.learning.chunk)

    def _misfit(self, axis: str, part: object, need: str, met: Callable[[frozenset[str]], Any]) -> str:
        """Message that a part needs something of the value; `met` decides from the functions a value offers if it fits."""
        fitting = [name for name in registry.names("value") if met(offered(registry.part_class("value", name)))]
        return (
            f"{axis} {registry.name_of(axis, part)} needs a value with {need}, which "
            f"{registry.name_of('value', self.value)} has not; values that do: {', '.join(fitting) or 'none'}."
        )

    def check_actions(self, levels: tuple[int, ...]) -> None:
        """Refuse actions of the data (`Shapes.levels`) that the value or the policy cannot have."""
        if any(levels) and not getattr(self.policy, "discrete", False):
            name, dimension = registry.name_of("policy", self.policy), next(i for i, count in enumerate(levels) if count)
            raise UsageError(
                f"policy {name} has continuous actions only, but action dimension {dimension} of the data is discrete; "
                f"policies that fit: {self._policies_with('discrete')}."
            )
        for axis in ("value", "policy"):
            part = getattr(self, axis)
            if isinstance(part, ComparesActions) and not (len(levels) == 1 and levels[0]):
                raise UsageError(
                    f"{axis} {registry.name_of(axis, part)} compares all actions, which needs data with one discrete action "
                    f"dimension, such as the number of a button; choose another {axis} for this data."
                )

    def check_images(self, image: ImageShape | None) -> None:
        """Refuse images without an encoder, an encoder without images, and settings that images have no numbers for."""
        name = registry.name_of("encoder", self.encoder)
        if isinstance(self.encoder, EncodesImages) != (image is not None):
            kind = "numbers, which" if image is None else "images, which"
            able = "identity" if image is None else "impala"
            raise UsageError(f"observations of the data are {kind} encoder {name} does not take; choose --encoder {able}.")
        if image is not None and getattr(self.regularizer, "cost", None) == "auto":
            raise UsageError("cost='auto' is computed from observations that are numbers; give a number for images.")
        if image is not None and getattr(self.regularizer, "scale", "raw") != "raw":
            raise UsageError("a scale has one number for each number of an observation; images need scale='raw'.")

    def _policies_with(self, capability: str) -> str:
        """Names of the policies that have a capability and that this value can serve."""
        every = {name: registry.part_class("policy", name) for name in registry.names("policy")}
        able = [name for name, part in every.items() if getattr(part, capability, False)]
        return ", ".join(name for name in able if every[name].needs <= offered(self.value))

    def fit(self, statistics: Statistics | None) -> "Recipe":
        """The same recipe with the settings that are computed from the data; images have no statistics (None)."""
        if isinstance(self.regularizer, FitsData) and statistics:
            return replace(self, regularizer=self.regularizer.fit(statistics))
        return self

    def names(self) -> dict[str, str]:
        """The names of its parts, by axis."""
        return {axis: registry.name_of(axis, getattr(self, axis)) for axis in registry.AXES}

    def to_json(self) -> dict[str, Any]:
        parts = {axis: _part_to_json(axis, getattr(self, axis)) for axis in registry.AXES}
        return {**parts, "learning": asdict(self.learning)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Recipe":
        earlier_parts = {"encoder": {"name": "identity"}}  # version 0.1 had vectors only
        parts = {axis: _part_from_json(axis, {**earlier_parts, **data}[axis]) for axis in registry.AXES}
        learning = data["learning"]
        streams = {name: learning[name] and GoalMix(**learning[name]) for name in ("value_goals", "actor_goals")}
        earlier = {"normalize": False}  # version 0.1 did not normalize
        return cls(**parts, learning=Learning(**{**earlier, **learning, **streams}))


def _fixed_representations() -> list[str]:
    """Names of the representations that do not depend on the state."""
    names = registry.names("representation")
    return [name for name in names if not registry.part_class("representation", name).looks_at_state]


def make_part(axis: str, name: str, **settings: Any) -> Any:
    """A part, given its name and settings; raises if it has no such setting."""
    part = registry.part_class(axis, name)
    known = {f.name for f in fields(part)}
    for setting in settings:
        if setting not in known:
            raise unknown(f"setting of {axis} {name}", setting, known)
    return part(**settings)


def _part_to_json(axis: str, part: Any) -> dict[str, Any]:
    return {"name": registry.name_of(axis, part), **asdict(part)}


def _part_from_json(axis: str, data: dict[str, Any]) -> Any:
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key != "name"}
    return make_part(axis, data["name"], **settings)
