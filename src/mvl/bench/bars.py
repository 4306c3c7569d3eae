"""The bars: bounds on the speed, as ratios, and whether they hold on this machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mvl.bench.measures import Measurement, measure

SIZES = {"1024 x 512": (1024, 512), "256 x 256": (256, 256), "256 x 128": (256, 128)}
"""Batch size and network width."""
SHORT_RUN = ["--run", "FOLDER/run", "--steps", "1000", "--eval-every", "1000", "--save-every", "1000", "--log-every", "100"]


@dataclass(frozen=True)
class Bar:
    """A measured figure and its bound."""

    name: str
    figure: float
    bound: float
    at_least: bool = False
    """Whether the bound is a lower one; otherwise it is an upper one."""
    unit: str = ""

    @property
    def passes(self) -> bool:
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def __str__(self) -> str:
        limit = f"{'at least' if self.at_least else 'at most'} {self.bound:g}{self.unit}"
        verdict = "passes" if self.passes else "falls short"
        return f"{self.name:<76}{self.figure:>8.2f}{self.unit:<3}{limit:>16}   {verdict}"


def fastest(measures: Mapping[str, Callable[[], Measurement]], rounds: int = 3) -> dict[str, Measurement]:
    """The fastest of several measurements of each. They alternate, because disturbances of a machine come and go."""
    taken = [{name: take() for name, take in measures.items()} for _ in range(rounds)]
    return {name: min((found[name] for found in taken), key=lambda found: found["seconds"]) for name in measures}


def matmul_shares(cores: list[int], bounds: tuple[float, ...], where: str) -> tuple[list[Bar], dict[str, Measurement]]:
    """Operation rates of plain steps of three sizes, as shares of the best matrix-product rate of the same cores."""
    measures = {"matrix products": partial(measure, "rate", cores=set(cores))}
    for name, (batch, width) in SIZES.items():
        steps = 8 if width == 512 else 100
        measures[f"gcivl, {name}"] = partial(measure, "step", "gcivl", batch, width, steps=steps, cores=set(cores))
    found = fastest(measures)
    bars = []
    for name, bound in zip(SIZES, bounds, strict=True):
        step = found[f"gcivl, {name}"]
        share = step["operations"] / step["seconds"] / found["matrix products"]["flops"]
        bars.append(Bar(f"plain GCIVL step, {name}, share of matrix products, {where}", share, bound, at_least=True))
    return bars, found


def regularized() -> tuple[list[Bar], dict[str, Measurement]]:
    """Cost of the regularizers in the `cpu` preset."""
    found = fastest({name: partial(measure, "step", name) for name in ("gcivl", "gcivl-mvl", "gcivl-eik", "gcivl-slope")})
    plain, mollified, eikonal, slope = (found[name]["seconds"] for name in found)
    bars = [
        Bar("mollified step against a plain one, cpu preset", mollified / plain, 1.5, unit="x"),
        Bar("mollified step against an Eikonal one, cpu preset", mollified / eikonal, 1.0, unit="x"),
        Bar("slope step against a plain one, cpu preset", slope / plain, 1.25, unit="x"),
        Bar("slope step against an Eikonal one, cpu preset", slope / eikonal, 1.0, unit="x"),
    ]
    return bars, found


def seeds(data: str) -> tuple[list[Bar], dict[str, Measurement]]:
    """Four seeds in one process against four one after another: steps alone, and short commands with start and compilation."""
    flags = ["train", data, "--recipe", "gcivl", "--value.widths", "128", "128", "128", "--policy.widths", "128", "128", "128"]
    flags += SHORT_RUN
    alone, together = measure("command", *flags), measure("command", *flags, "--seeds", "4")
    steps = fastest({f"step of {count}": partial(measure, "step", "gcivl", 256, 128, seeds=count) for count in (1, 4)})
    found = {"one seed, 1000 steps": alone, "four seeds, 1000 steps": together, **steps}
    name = "4 seeds in one process against 4 in turn, width 128"
    bars = [
        Bar(f"{name}, steps alone", steps["step of 4"]["seconds"] / (4 * steps["step of 1"]["seconds"]), 0.75, unit="x"),
        Bar(f"{name}, commands of 1000 steps", together["seconds"] / (4 * alone["seconds"]), 0.75, unit="x"),
    ]
    return bars, found


def evaluation() -> tuple[list[Bar], dict[str, Measurement]]:
    """An evaluation in parallel environments against one environment at a time."""
    played = measure("evaluation")
    name = "evaluation, 5 tasks x 50 episodes, against one environment and step at a time"
    return [Bar(name, played["slow_seconds"] / played["seconds"], 8.0, at_least=True, unit="x")], {"evaluation": played}


def starting(data: str) -> tuple[list[Bar], dict[str, Measurement]]:
    """Seconds until commands have started."""
    train = ["train", data, "--recipe", "gcivl", *SHORT_RUN]
    first = measure("command", *train, until="step 100/")
    again = measure("command", *train, until="step 100/")
    usage = min((measure("command", "--help") for _ in range(3)), key=lambda found: found["seconds"])
    bars = [
        Bar("mvl --help", usage["seconds"], 0.5, unit=" s"),
        Bar("mvl train to its first steps, compiled before", again["seconds"], 10.0, unit=" s"),
    ]
    return bars, {"mvl --help": usage, "first steps, first time": first, "first steps, again": again}


def memory(data: str) -> tuple[list[Bar], dict[str, Measurement]]:
    """Memory of a training run."""
    found = measure("training_memory", data)
    return [Bar("memory, training on a million transitions of pointmaze", found["bytes"] / 1e9, 1.0, unit=" GB")], {
        "memory": found
    }


def arriving() -> tuple[list[Bar], dict[str, Measurement]]:
    """Time until a planned policy arrives, and the time of planning."""
    found = measure("arriving")
    bars = [
        Bar("training until success 0.60, pointmaze-medium, gcivl-slope, planned", found["until_0.6"], 60.0, unit=" s"),
        Bar("training until success 0.95, pointmaze-medium, gcivl-slope, planned", found["until_0.95"], 120.0, unit=" s"),
        Bar("building a graph of 2000 nodes", found["build"], 10.0, unit=" s"),
        Bar("a planned action of one robot", 1000 * found["act"], 2.0, unit=" ms"),
        Bar("the same when it plans again", 1000 * found["replan"], 20.0, unit=" ms"),
        Bar("an action of one robot without a plan", 1000 * found["plain_act"], 1.0, unit=" ms"),
        Bar("an exported action, by onnxruntime", 1000 * found["exported_act"], 0.5, unit=" ms"),
        Bar("an exported action with a plan", 1000 * found["exported_planned_act"], 2.0, unit=" ms"),
        Bar("an exported action when it plans again", 1000 * found["exported_planned_replan"], 20.0, unit=" ms"),
        Bar("an answer of the policy server at 50 Hz, 99 of 100", 1000 * found["served_p99"], 2.0, unit=" ms"),
        Bar("the same with a plan", 1000 * found["served_planned_p99"], 5.0, unit=" ms"),
    ]
    return bars, {"arriving": found}


def images() -> tuple[list[Bar], dict[str, Measurement]]:
    """A step on Powderworld's images, and its encoder inside and outside of a loop; its share of matrix products is kept."""
    found = fastest({"matrix products": partial(measure, "rate"), "image step": partial(measure, "image_step")})
    step = found["image step"]
    step["share"] = step["operations"] / step["seconds"] / found["matrix products"]["flops"]
    bars = [
        Bar("gradient of the image encoder in a loop against the same alone", step["in_loop"] / step["alone"], 1.2, unit="x"),
        Bar("plain GCIVL step on powderworld's images, cpu preset", 1000 * step["seconds"], 60.0, unit=" ms"),
    ]
    return bars, found


def all_bars(data: Path, cores: list[int], report: Callable[[Bar], None]) -> tuple[list[Bar], dict[str, Any]]:
    """Every bar, reported when it is measured; and all measurements that they are made from."""
    parts: list[tuple[str, Callable[[], tuple[list[Bar], dict[str, Measurement]]]]] = [
        ("one core", lambda: matmul_shares(cores[:1], (0.90, 0.80, 0.65), "one core")),
        ("all cores", lambda: matmul_shares(cores, (0.85, 0.65, 0.65), f"{len(cores)} cores")),
        ("regularizers", regularized),
        ("images", images),
        ("seeds", lambda: seeds(str(data))),
        ("evaluation", evaluation),
        ("starting", lambda: starting(str(data))),
        ("memory", lambda: memory(str(data))),
        ("arriving", arriving),
    ]
    bars: list[Bar] = []
    figures: dict[str, Any] = {}
    for name, part in parts:
        found, figures[name] = part()
        bars += found
        for bar in found:
            report(bar)
    return bars, figures
