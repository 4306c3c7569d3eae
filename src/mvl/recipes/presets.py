"""Presets: sizes and schedules, those of the paper and smaller ones for a laptop's CPU."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.errors import UsageError, unknown
from mvl.recipes.families import FAMILIES, PIXEL, RECIPES, canonical
from mvl.recipes.recipe import Learning, Recipe, make_part
from mvl.tasks import Task
from mvl.tasks.task import Settings
from mvl.types import CountsSteps

PlannerName: TypeAlias = Literal["none", "graph"]
ExecutionName: TypeAlias = Literal["open", "blended"]


@dataclass(frozen=True)
class Schedule:
    """How long to train, and how often to evaluate, log and save."""

    steps: int = 1_000_000
    """Gradient steps."""
    eval_every: int = 100_000
    """Steps between evaluations."""
    eval_episodes: int = 50
    """Episodes per task in an evaluation; in kitchens, where every episode is scored on all subtasks, in total."""
    eval_temperature: float = 0.0
    """Randomness of the policy in evaluations; 0 takes the most likely action."""
    plan: PlannerName = "none"
    """Planner of the evaluations: none, or graph (sub-goals on shortest paths over states of the data)."""
    plan_nodes: int = 2_000
    """Nodes of the planner's graph."""
    plan_steps: int = 10
    """Length of the longest edge of the planner's graph, in steps of the data."""
    execute: ExecutionName = "open"
    """How evaluations execute chunks: open (all actions, then the next chunk), or blended (a new chunk at every step, averaged
    with earlier ones)."""
    log_every: int = 5_000
    """Steps between rows of metrics.jsonl."""
    save_every: int = 20_000
    """Steps between checkpoints."""
    steps_per_dispatch: int = 100
    """Steps per compiled call; steps and all intervals must be multiples of it."""

    def __post_init__(self) -> None:
        check_settings(self, steps_per_dispatch=COUNT, eval_episodes=COUNT, eval_temperature=NOT_NEGATIVE)
        check_settings(self, plan_nodes=COUNT, plan_steps=COUNT)
        for name in ("steps", "eval_every", "log_every", "save_every"):
            value = getattr(self, name)
            if value not in COUNT or value % self.steps_per_dispatch:
                raise UsageError(
                    f"{name} must be a positive multiple of {self.steps_per_dispatch} (steps_per_dispatch), not {value}."
                )


@dataclass(frozen=True)
class Preset:
    """Sizes and a schedule, which apply to every recipe."""

    widths: tuple[int, ...]
    """Hidden layers of every network."""
    learning: dict[str, Any]
    """Changes to `Learning`."""
    schedule: Schedule
    parts: dict[str, dict[str, Any]]
    """Settings of single parts, by the part's name."""
    own_data: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of single parts for data of one's own, which is standardized: lengths count standard deviations."""
    imitation: dict[str, Any] = field(default_factory=dict)
    """Changes to `Learning` and the schedule of recipes without a value, whose steps take a tenth of the time."""
    images: dict[str, Any] = field(default_factory=dict)
    """Changes to `Learning` and the schedule on tasks with images."""


SMALL: dict[str, dict[str, Any]] = {
    "contrastive": {"latent": 64},
    "quasimetric": {"latent": 64},
    "subgoal_tree": {"subgoals": 8},
    "compositional": {"subgoals": 8},
    "impala": {"channels": (16, 32), "size": 128, "patch": 4},
}
"""Settings of parts that a CPU can train in minutes."""
# Averaging noisy actions needs many samples: success was still rising at 60k steps of this size (docs/results).
SMALL_IMITATION = {"batch_size": 1024, "learning_rate": 3e-4, "steps": 100_000, "eval_every": 10_000, "log_every": 5_000}
# Few steps per call, since the images of a call are in memory together if they are read from disk.
SMALL_IMAGES = {"batch_size": 64, "learning_rate": 3e-4, "steps": 20_000, "eval_every": 5_000, "eval_episodes": 10}
SMALL_IMAGES |= {"log_every": 500, "save_every": 1_000, "steps_per_dispatch": 20}
PAPER_IMAGES = {"batch_size": 256, "steps": 500_000, "eval_episodes": 15, "steps_per_dispatch": 10}
DEFAULT = "laptop"

PRESETS = {
    "paper": Preset((512, 512, 512), {}, Schedule(), {}, images=PAPER_IMAGES),
    # Chosen on pointmaze-medium, in single-seed trials (docs/results): with this learning rate and target rate three tasks were
    # solved after 10k to 15k steps at width 96, with those of the paper after 30k to 40k at widths 64 and 128.
    # Four neighbors in two mirrored pairs, for an eighth of the batch, work as well as ten for all of it (docs/results).
    "cpu": Preset(
        (96, 96, 96),
        {"batch_size": 256, "learning_rate": 1e-3, "target_rate": 0.02},
        Schedule(steps=30_000, eval_every=5_000, eval_episodes=20, log_every=1_000, save_every=5_000),
        {
            **SMALL,
            "mollified": {"fraction": 0.125, "samples": 4, "antithetic": True, "weight": 10.0},
            "slope": {"fraction": 0.125},
        },
        {
            "mollified": {"weight": 10.0, "viscosity": 0.01, "cost": 1.0},
            "eikonal": {"weight": 1.0, "speed": 1.0},
            "slope": {"weight": 1.0, "radius": 0.14, "cost": 1.0},
        },
        SMALL_IMITATION,
        SMALL_IMAGES,
    ),
    # The same sizes with settings chosen later, on pointmaze-medium alone, in trials of two seeds; evaluations on mazes plan.
    "laptop": Preset(
        (96, 96, 96),
        {"batch_size": 256, "learning_rate": 1e-3, "target_rate": 0.02},
        Schedule(steps=60_000, eval_every=20_000, eval_episodes=20, plan="graph", log_every=1_000, save_every=10_000),
        {
            **SMALL,
            "mollified": {"fraction": 0.125, "samples": 4, "antithetic": True, "weight": 10.0, "viscosity": 0.1},
            "slope": {"fraction": 0.125, "weight": 0.3},
        },
        {
            "mollified": {"weight": 10.0, "viscosity": 0.1, "cost": 1.0},
            "eikonal": {"weight": 1.0, "speed": 1.0},
            "slope": {"weight": 0.3, "radius": 0.14, "cost": 1.0},
        },
        SMALL_IMITATION,
        SMALL_IMAGES,
    ),
}


def named_recipe(
    name: str, preset: str, task: Task | None = None, parts: dict[str, str] | None = None
) -> tuple[Recipe, Schedule]:
    """The recipe of that name with the sizes of a preset and the task's settings; `parts` replaces parts, {axis: name}."""
    if canonical(name) not in RECIPES:
        raise unknown("recipe", name, RECIPES)
    images = bool(task and task.images)
    if PIXEL in name.split("-") and not images:
        raise UsageError(f"{name} learns from images; name a task that has them, or the recipe {canonical(name)}.")
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    size = PRESETS[preset]
    family, names = RECIPES[canonical(name)]
    chosen = {**names._asdict(), "encoder": "impala" if images else "identity", **(parts or {})}
    value = chosen["value"]
    published = task.settings(value) if task and task.settings else Settings()
    own = size.own_data if task and task.is_own else {}
    tables = (FAMILIES[family].settings, size.parts, own, published.parts)

    def made(axis: str) -> Any:
        part = chosen[axis]
        settings: dict[str, Any] = {}
        for table in tables:
            settings |= table.get(part, {})
        return _sized(make_part(axis, part, **settings), size)

    changes = {**size.learning, **(size.imitation if value == "absent" else {}), **(size.images if images else {})}
    learning, schedule = (_changed(thing, changes) for thing in (Learning(), size.schedule))
    learning, schedule = _changed(learning, published.learning), _changed(schedule, published.schedule)
    recipe = Recipe(**{axis: made(axis) for axis in chosen}, learning=learning)
    if not (task and task.maze and isinstance(recipe.value, CountsSteps)):
        schedule = replace(schedule, plan="none")  # planning is a preset's choice for mazes, and needs a value that counts steps
    return recipe, schedule


def _changed(thing: Any, changes: dict[str, Any]) -> Any:
    """A copy of a dataclass with those of the changes that are fields of it."""
    known = {f.name for f in fields(thing)}
    return replace(thing, **{name: value for name, value in changes.items() if name in known})


def _sized(part: Any, size: Preset) -> Any:
    """A copy of a part with the widths of a preset, if it has widths."""
    has_widths = any(f.name == "widths" for f in fields(part))
    return replace(part, widths=size.widths) if has_widths else part
