"""Figures of a benchmark as a picture, as a table, and two of them side by side."""

import json
from pathlib import Path
from typing import Any

from mvl.data.files import atomic
from mvl.errors import DataError


def draw(figures: dict[str, Any], to: Path) -> None:
    """Bars against their bounds, and how time grows."""
    from matplotlib.figure import Figure

    grown = figures["growth"]
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    bars = figures["bars"]
    ratios = [(bar["figure"] / bar["bound"] if bar["at_least"] else bar["bound"] / max(bar["figure"], 1e-9)) for bar in bars]
    colors = ["#009e73" if bar["passes"] else "#d55e00" for bar in bars]
    axes[0].barh(range(len(bars)), ratios, color=colors)
    axes[0].axvline(1, color="black", linewidth=1)
    axes[0].set(title="bars: right of the line passes", yticks=range(len(bars)), xlabel="how far (times the bound)", xscale="log")
    axes[0].set_yticklabels([bar["name"].split(",")[0][:28] for bar in bars], fontsize=6)
    axes[0].invert_yaxis()
    for ax, (name, rows) in zip(axes[1:], grown.items(), strict=False):
        ax.plot([row["value"] for row in rows], [row["milliseconds"] for row in rows], "o-", color="#0072b2")
        ax.set(title=name, ylabel="ms a step", xscale="log", ylim=(0, None))
        ax.grid(alpha=0.3)
    with atomic(to) as partial:
        figure.savefig(partial, dpi=100)


def load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict) or "bars" not in found:
            raise ValueError("it has no bars")
        return found
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not the figures of a benchmark ({error}); make some with mvl bench --to FILE.json") from None


def compare(old: Path, new: Path) -> str:
    """Every bar of two files, and how the second differs."""
    before, after = load(old), load(new)
    known = {bar["name"]: bar["figure"] for bar in before["bars"]}
    lines = [f"{'':<76}{old.stem[:10]:>10}{new.stem[:10]:>10}{'change':>9}"]
    for bar in after["bars"]:
        figure = known.get(bar["name"])
        change = f"{bar['figure'] / figure - 1:>+9.0%}" if figure else f"{'new':>9}"
        lines.append(f"{bar['name']:<76}{figure if figure is not None else float('nan'):>10.2f}{bar['figure']:>10.2f}{change}")
    return "\n".join(lines)


def table(path: Path) -> str:
    """The bars as Markdown."""
    lines = ["| what | here | bar | |", "|---|---|---|---|"]
    for bar in load(path)["bars"]:
        figure, bound = (f"{value:.2f}{bar['unit']}" for value in (bar["figure"], bar["bound"]))
        asked = f"{'at least' if bar['at_least'] else 'at most'} {bound}"
        lines.append(f"| {bar['name']} | {figure} | {asked} | {'passes' if bar['passes'] else 'falls short'} |")
    return "\n".join(lines)
