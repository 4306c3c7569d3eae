"""A data card (a text summary) of Powderworld's images and brush strokes, made in one pass over the file."""

from typing import NamedTuple

import numpy as np

from mvl.data.check.card import span
from mvl.data.sources.images import LEVELS, Images

GRID = LEVELS
"""Positions of the brush along x and along y."""
STAGES = ("element", "x", "y")
"""What the actions of the three steps of a stroke choose."""


class ImageStatistics(NamedTuple):
    """Statistics of all images of a file."""

    lowest: np.ndarray  # (channels,)
    highest: np.ndarray  # (channels,)
    mean: np.ndarray  # (channels,)
    unchanged: int
    """Transitions that do not change the image."""


def image_card(images: Images) -> str:
    """Episodes, shapes, memory, ranges of the channels, how often each action is taken, and warnings, as text."""
    lengths = np.diff(np.concatenate([[-1], images.ends])) - 1
    statistics, counts = image_statistics(images), action_counts(images)
    head = [
        f"file          {images.path}",
        f"episodes      {len(lengths)}",
        f"transitions   {lengths.sum()} ({span(lengths)} per episode, median {int(np.median(lengths))})",
        f"observations  images of {' x '.join(map(str, images.shape[1:]))}, bytes",
        f"actions       one of {counts.shape[1]}: {', '.join(STAGES)} in turn",
        f"memory        {np.prod(images.shape, dtype=float) / 1e6:.1f} MB ({images.path.stat().st_size / 1e6:.1f} MB packed)",
    ]
    warnings = [f"  ! {line}" for line in looks_wrong(statistics, counts)] or ["  nothing"]
    return "\n".join([*head, "", *_channels(statistics), "", *_shares(counts), "", "looks wrong:", *warnings])


def image_statistics(images: Images) -> ImageStatistics:
    channels = images.shape[-1]
    lowest, highest, total = np.full(channels, 255), np.zeros(channels, int), np.zeros(channels)
    same: list[np.ndarray] = []
    last = None
    for chunk in images.chunks():
        flat = chunk.reshape(-1, channels)
        lowest, highest = np.minimum(lowest, flat.min(axis=0)), np.maximum(highest, flat.max(axis=0))
        total += flat.sum(axis=0, dtype=np.int64)
        joined = chunk if last is None else np.concatenate([last, chunk])
        same.append((joined[1:] == joined[:-1]).all(axis=(1, 2, 3)))
        last = chunk[-1:]
    mean = total / np.prod(images.shape[:3], dtype=float)
    return ImageStatistics(lowest, highest, mean, int(np.delete(np.concatenate(same), images.ends[:-1]).sum()))


def action_counts(images: Images) -> np.ndarray:
    """How often each action was taken at each of the three steps, (3, actions)."""
    starts = np.concatenate([[0], images.ends[:-1] + 1])
    lengths = np.diff(np.concatenate([[-1], images.ends]))
    stage = (np.arange(len(images.actions)) - np.repeat(starts, lengths)) % len(STAGES)
    most = max(GRID, int(images.actions.max()) + 1)
    return np.stack([np.bincount(images.actions[stage == index], minlength=most) for index in range(len(STAGES))])


def _channels(statistics: ImageStatistics) -> list[str]:
    lines = [f"{'':<16}{'lowest':>10}{'highest':>10}{'mean':>10}"]
    for index, (low, high, mean) in enumerate(zip(statistics.lowest, statistics.highest, statistics.mean, strict=True)):
        lines.append(f"{'channel ' + str(index):<16}{low:>10}{high:>10}{mean:>10.4g}")
    return lines


def _shares(counts: np.ndarray) -> list[str]:
    """One line per action: its share of the actions at each step of a stroke."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    lines = [f"{'':<16}" + "".join(f"{stage:>10}" for stage in STAGES)]
    for index, row in enumerate(shares.T):
        lines.append(f"{'action ' + str(index):<16}" + "".join(f"{share:>10.1%}" for share in row))
    return lines


def looks_wrong(statistics: ImageStatistics, counts: np.ndarray) -> list[str]:
    """Warnings about data that is valid but probably not intended."""
    found = []
    if statistics.unchanged:
        found.append(f"{statistics.unchanged} transitions leave the image as it is; every step of a stroke shows in it")
    beyond = counts[:, GRID:].sum()
    if beyond:
        found.append(f"{beyond} actions of {GRID} or more, which the environment replaces by random ones")
    unused = [stage for stage, row in zip(STAGES[1:], counts[1:], strict=True) if (row[:GRID] == 0).any()]
    if unused:
        found.append(f"places that are never painted along {' and '.join(unused)}")
    return found
