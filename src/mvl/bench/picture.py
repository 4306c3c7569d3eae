"""Results of a benchmark as a picture and as a table, and the comparison of two."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl.errors import DataError
from mvl.files import atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(figures: dict[str, Any], to: Path) -> None:
    """Draw bars relative to their bounds, and the time of a step by size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 7), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(0.42, 0.58), squeeze=False)[0]
    _draw_bars(left.subplots(), figures["bars"])
    growth = figures["growth"]
    for ax, (name, rows) in zip(right.subplots(3, 3).ravel(), growth.items(), strict=False):
        values = [row["value"] for row in rows]
        ax.plot(values, [row["milliseconds"] for row in rows], "o-", color="#0072b2")
        ax.set(title=name, ylabel="ms per step", xscale="log", ylim=(0, None))
        ax.set_xticks(values, [f"{value:g}" for value in values], minor=False)
        ax.set_xticks([], minor=True)
        ax.grid(alpha=0.3)
    for ax in right.axes[len(growth) :]:
        ax.set_axis_off()
    with atomic(to) as partial:
        figure.savefig(partial, dpi=100)


def _draw_bars(ax: "Axes", bars: list[dict[str, Any]]) -> None:
    ratios = [(bar["figure"] / bar["bound"] if bar["at_least"] else bar["bound"] / max(bar["figure"], 1e-9)) for bar in bars]
    ax.barh(range(len(bars)), ratios, color=["#009e73" if bar["passes"] else "#d55e00" for bar in bars])
    ax.axvline(1, color="black", linewidth=1)
    ax.set(title="bars: right of the line passes", xlabel="times the bound", xscale="log")
    names = [bar["name"].replace(" share of matrix products,", "").replace(", cpu preset", "") for bar in bars]
    ax.set_yticks(range(len(bars)), [textwrap.fill(name, 34) for name in names], fontsize=8)
    ax.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    ax.set_xticks([], minor=True)
    ax.invert_yaxis()


def load(path: Path) -> dict[str, Any]:
    """Read the results of a benchmark."""
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict) or "bars" not in found:
            raise ValueError("it has no bars")
        return found
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not the figures of a benchmark ({error}); make some with mvl bench --to FILE.json") from None


def compare(old: Path, new: Path) -> str:
    """A table of every bar in two files, and the change from the first to the second."""
    before, after = load(old), load(new)
    known = {bar["name"]: bar["figure"] for bar in before["bars"]}
    lines = [f"{'':<76}{old.stem[:10]:>10}{new.stem[:10]:>10}{'change':>9}"]
    for bar in after["bars"]:
        figure = known.get(bar["name"])
        change = f"{bar['figure'] / figure - 1:>+9.0%}" if figure else f"{'new':>9}"
        lines.append(f"{bar['name']:<76}{figure if figure is not None else float('nan'):>10.2f}{bar['figure']:>10.2f}{change}")
    return "\n".join(lines)


def table(path: Path) -> str:
    """The bars as a Markdown table."""
    lines = ["| what | here | bar | |", "|---|---|---|---|"]
    for bar in load(path)["bars"]:
        figure, bound = (f"{value:.2f}{bar['unit']}" for value in (bar["figure"], bar["bound"]))
        limit = f"{'at least' if bar['at_least'] else 'at most'} {bound}"
        lines.append(f"| {bar['name']} | {figure} | {limit} | {'passes' if bar['passes'] else 'falls short'} |")
    return "\n".join(lines)
