"""Write the evaluation goals of the Panda's tasks: the ends of demonstrations with fixed seeds."""

import json
from collections.abc import Iterable

from mvl.files import atomic
from mvl.tasks.panda import LIMITS, job
from mvl.tasks.panda.demonstrator import PandaGenerator
from mvl.tasks.panda.places import GOALS_FILE, Goal


def saved(goal: Goal) -> dict[str, list[float]]:
    """A goal as JSON."""
    parts: dict[str, Iterable[float]] = {"start": goal.layout.start, "end": goal.layout.end, "observation": goal.observation}
    return {name: [round(float(number), 5) for number in numbers] for name, numbers in parts.items()}


if __name__ == "__main__":
    jobs = [job(name, sees) for name in LIMITS for sees in (False, True)]
    found = {wanted.name: [saved(goal) for goal in PandaGenerator(wanted).goals()] for wanted in jobs}
    lines = [f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, goals)) + "\n ]" for name, goals in found.items()]
    with atomic(GOALS_FILE) as partial:
        partial.write_text("{\n" + ",\n".join(lines) + "\n}\n")
