"""A report: one HTML file with everything it shows embedded."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from mvl import __version__
from mvl.evaluation.held_out.measures import BEST
from mvl.files import atomic
from mvl.report.content import Content, Progress, gather
from mvl.report.sections import PARTS, anchor, comparison, one_run, result

TEMPLATE = Path(__file__).parent / "template"
MOLLIFIED, OTHERS = [f"mvl{number}" for number in range(3)], [f"base{number}" for number in range(5)]
"""Color classes of the style sheet, for runs with the mollified regularizer and for others."""


def report(runs: Sequence[Path], to: Path, videos: bool, progress: Progress) -> None:
    """Write the report about some runs to a file."""
    contents: list[Content] = []
    for run, name in zip(runs, _names(runs), strict=True):
        contents.append(gather(run, name, videos, _part_of(progress, len(contents), len(runs))))
    with atomic(to) as partial:
        partial.write_text(page(contents), encoding="utf-8")


def _part_of(progress: Progress, done: int, count: int) -> Progress:
    """The progress of one run, reported as part of the progress of all."""
    return lambda fraction: progress((done + fraction) / count)


def page(contents: Sequence[Content]) -> str:
    """The HTML of a report. Its security policy allows no script or style but the page's own, by their hashes."""
    styles = _styles(contents)
    sections = [comparison(contents, styles)] if len(contents) > 1 else []
    sections += [one_run(content, styles[content.name]) for content in contents]
    if len(contents) > 1:
        links = [("comparison", "Comparison"), *((anchor(content), content.name) for content in contents)]
    else:
        links = [(anchor(contents[0], part), title) for part, title in PARTS]
    style, script = (f"\n{(TEMPLATE / name).read_text()}" for name in ("page.css", "page.js"))
    heading, lead = _heading(contents)
    return Template((TEMPLATE / "page.html").read_text()).substitute(
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; media-src data:; base-uri 'none'; form-action 'none'",
        version=__version__,
        title=escape(f"{heading} - mvl"),
        heading=escape(heading),
        lead=escape(lead),
        links="".join(f'<li><a href="#{place}">{escape(name)}</a></li>' for place, name in links),
        style=style,
        script=script,
        body="\n".join(sections),
    )


def _heading(contents: Sequence[Content]) -> tuple[str, str]:
    """The title of the page, and the sentence below it."""
    tasks = sorted({content.description.task.label for content in contents})
    where = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    if len(contents) > 1:
        return f"{len(contents)} runs on {where}", _best(contents)
    (content,) = contents
    seeds = len(content.description.experiment.seeds)
    scores = {"Success": content.overall, BEST: content.in_model}
    lead = "".join(f"{name} {result(score)}, " for name, score in scores.items() if score)
    lead += f"{content.trained:,} steps, {seeds} seed{'s' if seeds > 1 else ''}."
    return f"{content.recipe} on {where}", lead


def _best(contents: Sequence[Content]) -> str:
    """The run with the highest success, or if none was evaluated in an environment, with the highest held-out measure."""
    for name, scores in (("success", [one.overall for one in contents]), (BEST, [one.in_model for one in contents])):
        found = [(score, content.name) for score, content in zip(scores, contents, strict=True) if score]
        if found:
            score, best = max(found, key=lambda pair: pair[0].result.mean)
            return f"Highest {name}: {best}, {result(score)}."
    return ""


def _styles(contents: Sequence[Content]) -> dict[str, str]:
    """The color class of each run, by its name."""
    counts = {True: 0, False: 0}
    styles = {}
    for content in contents:
        mollified = content.description.experiment.recipe.to_json()["regularizer"]["name"] == "mollified"
        colors = MOLLIFIED if mollified else OTHERS
        styles[content.name] = colors[counts[mollified] % len(colors)]
        counts[mollified] += 1
    return styles


def _names(runs: Sequence[Path]) -> list[str]:
    """The names of the run folders, each with as much of its path as makes all names different."""
    parts = [run.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
