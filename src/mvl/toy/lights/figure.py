"""What came of Lights-Out, as a table, as JSON and as a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mvl.plots import drawing
from mvl.results.statistics import estimate
from mvl.results.table import Table
from mvl.toy.lights.board import Board
from mvl.toy.lights.learning import PER_TASK, SETTINGS, Learned, Puzzle

LIT, DARK = "#f0e442", "#444444"
PER_ROW = 11
"""Boards in a row of the picture."""


def table(made: Puzzle, found: Mapping[str, Learned]) -> Table:
    """Success and rank correlation of each way to see a board, with intervals over seeds."""
    heads = ["seen as", "success", *(f"at {distance}" for distance in made.tasks), "rank correlation"]
    rows = [
        [
            view,
            estimate(one.success.mean(axis=1)),
            *(f"{rate:.2f}" for rate in one.success.mean(axis=0)),
            estimate(one.rank_correlation, within=(-1.0, 1.0)),
        ]
        for view, one in found.items()
    ]
    seeds = len(next(iter(found.values())).success)
    note = (
        f"Success: share of goals reached with at most {made.board.buttons} presses, mean over {len(made.tasks)} distances with "
        f"{PER_TASK} episodes each, and its 95 % interval over {seeds} seeds. Rank correlation: Spearman's, of the learned "
        f"value and minus the exact distance."
    )
    return Table(heads, rows, f"Lights-Out, {made.board.size}, {made.board.buttons} presses at most between two boards", [note])


def to_json(made: Puzzle, found: Mapping[str, Learned], steps: int) -> dict[str, Any]:
    """All numbers, per seed."""
    measures = {
        view: {"success": one.success.round(4).tolist(), "rank_correlation": one.rank_correlation.round(4).tolist()}
        for view, one in found.items()
    }
    sizes = {"board": str(made.board.size), "steps": steps, "episodes": PER_TASK, "distances": made.tasks.tolist()}
    return {**sizes, "settings": SETTINGS, **measures}


def draw(made: Puzzle, found: Mapping[str, Learned], to: Path) -> None:
    """Draw one episode, and for each way to see a board the learned values over the exact distances."""
    boards, title = _episode(made, found)
    lines = -(-(len(boards) + 1) // PER_ROW)
    figure = Figure(figsize=(10, 1.35 * lines + 3.6), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.35 * lines, 3.4])[:, 0]
    _draw_boards(above, made.board, boards, title)
    axes = below.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for ax, color, (view, one) in zip(axes, drawing.COLORS, found.items(), strict=False):
        _draw_values(ax, color, made, one)
        rank = one.rank_correlation.mean()
        ax.set_title(f"seen as {view}: success {one.success.mean():.2f}, rank correlation {rank:.2f}", fontsize=10)
    axes[0].set_ylabel("learned value", fontsize=9)
    axes[0].legend(fontsize=8, frameon=False)
    drawing.save(figure, to)


def _episode(made: Puzzle, found: Mapping[str, Learned]) -> tuple[np.ndarray, str]:
    """The boards of the first seed's longest solved episode, of the first way in which one is solved, with the goal last."""
    starts, goals = made.episodes
    for view, one in found.items():
        paths = one.boards[:, 0]
        lengths = (paths != goals).sum(axis=0)
        solved = lengths < len(paths)
        if solved.any():
            longest = np.where(solved, lengths, -1).argmax()
            exact = made.board.distances[starts[longest] ^ goals[longest]]
            title = f"seen as {view}: {lengths[longest]} presses to the goal (framed), {exact} are needed; rings mark them"
            return paths[: lengths[longest] + 1, longest], title
    view = next(iter(found))
    return np.append(found[view].boards[:, 0, 0], goals[0]), f"seen as {view}: the goal (framed) is not reached"


def _draw_boards(figure: Any, board: Board, boards: np.ndarray, title: str) -> None:
    """Boards in order, each with a ring around the button that is pressed on it; the last one is framed."""
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots(-(-len(boards) // PER_ROW), PER_ROW, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    masks = board.presses.tolist()
    for number, (ax, lights) in enumerate(zip(axes, board.lights(boards), strict=False)):
        places = np.stack(np.divmod(np.arange(board.buttons), board.size.columns)[::-1])
        ax.scatter(*places, s=60, c=[LIT if lit else DARK for lit in lights], edgecolors="black", linewidths=0.4)
        change = int(boards[number] ^ boards[number + 1]) if number + 1 < len(boards) else 0
        if change in masks:
            button = places[:, masks.index(change)]
            ax.plot(*button, "o", markersize=12, markerfacecolor="none", markeredgecolor=drawing.COLORS[1], markeredgewidth=1.6)
        ax.set(xlim=(-0.8, board.size.columns - 0.2), ylim=(board.size.rows - 0.2, -0.8), aspect="equal")
        if number == len(boards) - 1:
            ax.set(xticks=[], yticks=[])
            ax.set_axis_on()


def _draw_values(ax: Any, color: str, made: Puzzle, found: Learned) -> None:
    """Mean and standard deviation of the learned values at every distance, and the value of a shortest way."""
    exact, discount = made.board.distances[made.pairs[0] ^ made.pairs[1]], SETTINGS["discount"]
    steps = np.unique(exact)
    groups = [found.values[:, exact == distance] for distance in steps]
    means, spreads = ([function(group) for group in groups] for function in (np.mean, np.std))
    ax.plot(steps, -(1 - discount**steps) / (1 - discount), color="black", linewidth=1, label="of a shortest way")
    ax.errorbar(steps, means, spreads, fmt="o", color=color, markersize=4, capsize=2, linewidth=1, label="learned, mean and std")
    ax.set_xlabel("exact distance in presses", fontsize=9)
