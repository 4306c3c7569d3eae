"""Signs in a run's metrics that something is wrong: an exploding loss, a regularizer without effect, a policy at its limits."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

LONG = 5
"""Rows in a row that have to show a sign which may also occur by chance."""
LARGEST = 1e8
"""A loss beyond this explodes: values lie within 1 / (1 - discount), so that squared errors stay far below."""
SATURATED = 0.999
"""Share of violated bounds from which on a mollified penalty is everywhere active."""
STUCK = 0.95
"""Share of the policy's actions at their limits from which on it is stuck there, unless the data's own are."""
LOSSES = ("value/loss", "policy/loss", "representation/loss")


def findings(rows: Sequence[Row]) -> list[str]:
    """A sentence for every sign in the rows of metrics.jsonl and evaluations.jsonl, of all seeds."""
    by_seed: dict[int, list[Row]] = {}
    for row in rows:
        by_seed.setdefault(row["seed"], []).append(row)
    found = [sentence for own in by_seed.values() for sentence in _of_seed(own)]
    return list(dict.fromkeys(found))


def _of_seed(rows: list[Row]) -> Iterator[str]:
    for name in LOSSES:
        yield from _explosion(name, [row for row in rows if name in row])
    active = [row for row in rows if "regularizer/active" in row][-LONG:]
    if len(active) == LONG:
        shares = [row["regularizer/active"] for row in active]
        if max(shares) == 0:
            yield "the regularizer has no effect: no neighbor violates its bound; lower its cost or raise its viscosity."
        if min(shares) >= SATURATED:
            yield "the regularizer is active everywhere: all neighbors violate its bound; raise its cost or lower its viscosity."
    stuck = [row for row in rows if "validation/at_limits" in row][-2:]
    if len(stuck) == 2 and all(row["validation/at_limits"] > max(STUCK, row["validation/data_at_limits"]) for row in stuck):
        yield "the policy is stuck at the limits of its actions; check the scale of the actions, or lower --policy.alpha."


def _explosion(name: str, rows: list[Row]) -> Iterator[str]:
    """A sentence on the first row in which a loss is not finite, or far too large."""
    for row in rows:
        if not math.isfinite(row[name]):
            yield f"{name} is not a finite number from step {row['step']} on; train again with a lower --learning-rate."
            return
        if abs(row[name]) > LARGEST:
            yield f"{name} explodes: it is {row[name]:.2g} at step {row['step']}; train again with a lower --learning-rate."
            return


class Watch:
    """Finds signs while a run is trained; each is returned once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.said: set[str] = set()

    def notice(self, rows: Sequence[Row]) -> list[str]:
        """What new rows show that was not said before, without the values of this moment."""
        self.rows += rows
        new = [sentence for sentence in findings(self.rows) if _kind(sentence) not in self.said]
        self.said |= {_kind(sentence) for sentence in new}
        return new


def _kind(sentence: str) -> str:
    """The part of a sentence that does not depend on numbers."""
    return sentence.split(":")[0].split(" from step")[0]
