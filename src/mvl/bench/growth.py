"""How the time of a step grows with each size, and the cost of every recipe."""

from collections.abc import Callable
from typing import Any

from mvl.bench.measures import measure
from mvl.recipes.families import FAMILIES

GROWTH: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "neighbors K": ("gcivl-mvl", [{"samples": count, "antithetic": False} for count in (1, 2, 5, 10, 20)]),
    "share of the batch": ("gcivl-mvl", [{"fraction": share} for share in (0.0625, 0.125, 0.25, 0.5, 1.0)]),
    "batch": ("gcivl", [{"batch": count} for count in (64, 256, 1024)]),
    "width": ("gcivl", [{"width": count} for count in (64, 128, 256, 512)]),
    "state dimension": ("gcivl-mvl", [{"dimensions": count} for count in (2, 8, 32, 64)]),
    "seeds": ("gcivl", [{"seeds": count} for count in (1, 2, 4)]),
    "rows of data": ("gcivl", [{"rows": count} for count in (10_000, 100_000, 1_000_000)]),
}
RECIPES = [f"{name}{suffix}" for name in ("gcivl", "dual", "hiql") for suffix in ("", "-mvl", "-eik")]
RECIPES += [name for name in FAMILIES if name not in RECIPES]


def growth(report: Callable[[str], None]) -> dict[str, list[dict[str, float]]]:
    """Milliseconds per step at several values of each size, the faster of two measurements; other sizes are those of `cpu`."""
    times: dict[str, list[dict[str, float]]] = {}
    for name, (recipe, settings) in GROWTH.items():
        times[name] = []
        for changed in settings:
            steps = 20 if changed.get("width") == 512 else 100
            seconds = min(measure("step", recipe, **changed, steps=steps)["seconds"] for _ in range(2))
            times[name].append({"value": next(iter(changed.values())), "milliseconds": 1e3 * seconds})
        report(f"{name:<20}" + "  ".join(f"{row['value']:g}: {row['milliseconds']:.2f} ms" for row in times[name]))
    return times


def recipes(report: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Times of a step of every recipe; the report compares them with plain GCIVL."""
    costs: dict[str, dict[str, float]] = {}
    for name in RECIPES:
        costs[name] = min((measure("step", name) for _ in range(2)), key=lambda found: found["seconds"])
        ratio = costs[name]["seconds"] / costs["gcivl"]["seconds"]
        milliseconds, compiling = 1e3 * costs[name]["seconds"], costs[name]["compile_seconds"]
        report(f"{name:<12}{milliseconds:>8.2f} ms{ratio:>7.2f} x, compiled in {compiling:.1f} s")
    return costs
