"""The sections of a report: a comparison of all runs, then one section per run."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mvl import registry
from mvl.data.signals import KINDS, Signals, dimension_names
from mvl.evaluation.held_out.measures import BEST
from mvl.report.charts import UNBOUNDED, Series, curves, success_mark
from mvl.report.content import Content, Success
from mvl.report.markup import Markup, collapsible, facts, html, paragraph, table
from mvl.report.measures import held_out_measures
from mvl.results.geometry import Geometry
from mvl.results.statistics import estimate
from mvl.runs import health
from mvl.runs.video import in_words
from mvl.settings import Configured

LOSSES = {
    "value/loss": "value loss",
    "policy/loss": "policy loss",
    "representation/loss": "representation loss",
    "regularizer/loss": "regularizer loss",
    "regularizer/active": "share of active regularizer terms",
    "value/mean": "mean value",
}
MEASURES = {
    "rank_correlation": ("rank correlation", "of the value with minus the true distance; 1 if nearer is always higher"),
    "correlation": ("correlation", "the same, of the numbers themselves"),
    "ascent": ("leads to the goal", "share of states from which steepest ascent ends at the goal, around walls"),
    "downhill": ("right direction", "share of states whose gradient points where the distance falls"),
    "jitter": ("jitter", "difference of the value from its local mean, in units of its slope; 0 is smooth"),
    "violated": (
        "violated bounds",
        "share of neighbors whose value is higher than that of their state by more than the cost of moving there",
    ),
}
"""Label and explanation of each measure of `Geometry`."""
PARTS = [
    ("trained", "What was trained"),
    ("success", "Success"),
    ("curves", "Learning curves"),
    ("value", "The value"),
    ("rollouts", "Rollouts"),
    ("command", "How to train it again"),
]
"""Anchor and title of each part of a run's section."""
NO_VALUE = "-"
PAPER_SIZE = "The paper trains for 1M steps with layers of 512."


def result(success: Success | None, without: str = "not evaluated") -> str:
    """A success with its interval, as text."""
    if success is None:
        return without
    return str(success.result) if len(success.per_seed) > 1 else f"{success.result.mean:.2f}"


def cell(success: Success | None) -> str:
    """The paper's success, as text."""
    return f"{success.paper[0]:.2f} ± {success.paper[1]:.2f}" if success and success.paper else NO_VALUE


def comparison(contents: Sequence[Content], styles: dict[str, str]) -> Markup:
    """All runs in one table and one chart."""
    several = len({content.description.task for content in contents}) > 1
    judged = any(content.in_model for content in contents)
    heads = ["run", "recipe", *(["task"] if several else []), "steps", "seeds", "success [95 %]", "paper"]
    heads += [f"{BEST} [95 %]"] if judged else []
    measured = [name for name in ("rank_correlation", "ascent", "jitter") if any(content.geometry for content in contents)]
    rows = []
    for content in contents:
        about = content.description
        link = Markup(f'<a href="#{anchor(content)}">{html(content.name)}</a>')
        row: list[object] = [link, content.recipe, *([about.task.label] if several else [])]
        row += [f"{content.trained:,}", len(about.experiment.seeds), result(content.overall), cell(content.overall)]
        row += [result(content.in_model, "not measured")] if judged else []
        row += [f"{_mean(content.geometry, name):.2f}" if content.geometry else NO_VALUE for name in measured]
        rows.append(row)
    summary = table("Success over all tasks", [*heads, *(MEASURES[name][0] for name in measured)], rows, left=3 if several else 2)
    series = [line for content in contents if (line := _line(content, content.evaluations, "overall", styles[content.name]))]
    drawn = f'<div class="grid-of">{curves("success", series, (0.0, 1.0))}</div>{_legend(series)}' if series else ""
    return Markup(f'<section id="comparison"><h2>Comparison</h2>{summary}{drawn}</section>')


def anchor(content: Content, part: str = "") -> str:
    """The id of a run's section in the page, or of a part of it."""
    run = "".join(letter if letter.isalnum() else "-" for letter in content.name)
    return "-".join(filter(None, ("run", run, part)))


def one_run(content: Content, style: str) -> Markup:
    """The section about one run, with its lines in the color of class `style`."""
    parts = (
        _trained(content),
        _success(content),
        _curves(content, style),
        _value(content),
        _rollouts(content),
        _command(content),
    )
    titles = zip(PARTS, parts, strict=True)
    inside = "".join(f'<h3 id="{anchor(content, part)}">{title}</h3>{shown}' for (part, title), shown in titles)
    name = anchor(content, "title")
    return Markup(
        f'<section class="run" id="{anchor(content)}" aria-labelledby="{name}"><h2 id="{name}">{html(content.name)}</h2>'
        f"{inside}{_settings(content)}{_versions(content)}</section>"
    )


def _trained(content: Content) -> str:
    about = content.description
    recipe = about.experiment.recipe.to_json()
    pairs: list[tuple[str, object]] = [("task", about.task.label), ("recipe", content.recipe)]
    for axis in registry.AXES:
        settings = ", ".join(f"{key} {_shown(value)}" for key, value in recipe[axis].items() if key != "name")
        pairs.append((axis, f"{recipe[axis]['name']}{f' ({settings})' if settings else ''}"))
    planned = "" if content.trained == about.experiment.schedule.steps else f" of {about.experiment.schedule.steps:,}"
    pairs.append(("trained", f"{content.trained:,}{planned} steps, batches of {about.experiment.recipe.learning.batch_size}"))
    pairs.append(("seeds", ", ".join(map(str, about.experiment.seeds))))
    path, held_out = about.data["path"], about.experiment.data.held_out
    share = f", {held_out:g} of it held out" if held_out else ""
    names = [
        f"{Path(path).name}{share}" if path else "arrays",
        *(Path(added["path"]).name for added in about.data.get("added", ())),
    ]
    pairs.append(("data", ", ".join(names)))
    if about.parent:
        pairs.append(("started from", f"{about.parent['run']}, step {about.parent['step']:,}"))
    signs = health.findings([*content.metrics, *content.evaluations])
    return "".join(paragraph(f"Warning: {sign}", "warning") for sign in signs) + facts(pairs)


def _success(content: Content) -> str:
    if not content.success:
        reason = "Not evaluated yet." if content.description.task.simulated else "There is no environment to evaluate in."
        return paragraph(reason) + held_out_measures(content)
    several = len(content.success[0].per_seed) > 1
    heads = ["task", "", "success [95 %]", "paper", *(f"seed {seed}" for seed in content.description.experiment.seeds if several)]
    rows = []
    for row in content.success:
        drawn = Markup(success_mark(row.result, several, row.paper[0] if row.paper else None))
        rows.append([row.name, drawn, result(row), cell(row), *(f"{value:.2f}" for value in row.per_seed if several)])
    episodes = content.description.experiment.schedule.eval_episodes
    steps = ", ".join(f"{step:,}" for step in content.steps)
    caption = f"Share of episodes that reach the goal: mean of the evaluations at steps {steps}; episodes per task: {episodes}"
    note = "The diamond is the paper's mean, with the standard deviation over its seeds. " + PAPER_SIZE
    shown = table(caption, heads, rows, left=2, total=True) + (paragraph(note, "note") if content.success[-1].paper else "")
    return shown + held_out_measures(content)


def _curves(content: Content, style: str) -> str:
    """Charts of success and losses over training, without those that are zero throughout."""
    found = [("success", _line(content, content.evaluations, "overall", style), (0.0, 1.0))]
    found += [(title, _line(content, content.metrics, name, style), UNBOUNDED) for name, title in LOSSES.items()]
    for name in ("value/loss", "policy/loss"):
        line = _line(content, content.evaluations, f"validation/{name}", style)
        found.append((f"{LOSSES[name]}, held-out data", line, UNBOUNDED))
    shown = [(title, line, within) for title, line, within in found if line and (title == "success" or line.values.any())]
    drawn = [curves(title, [line], within) for title, line, within in shown]
    if not drawn:
        return paragraph("Nothing has been measured yet.")
    return f'<div class="grid-of">{"".join(drawn)}</div>'


def _line(content: Content, rows: list[dict[str, Any]], name: str, style: str) -> Series | None:
    """A metric over training, at the steps where every seed has a finite value; None if there are none."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if np.isfinite(row.get(name, np.nan)):
            found.setdefault(row["step"], []).append(row[name])
    complete = {step: values for step, values in found.items() if len(values) == len(content.description.experiment.seeds)}
    return Series(content.name, style, np.array(list(complete), float), np.array(list(complete.values())).T) if complete else None


def _legend(series: Sequence[Series]) -> str:
    lines = "".join(f'<li class="{one.style}"><span></span><b>{html(one.label)}</b></li>' for one in series)
    return f'<ul class="legend">{lines}</ul>'


def _mean(found: Sequence[Geometry], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in found]))


def _value(content: Content) -> str:
    """The picture of the value, and the measures of its surface."""
    if content.picture.missing:
        shown = paragraph(content.picture.missing, "note")
    else:
        task = content.description.task.label
        how = "contours over the maze for each goal, with episodes" if content.geometry else "along episodes and over states"
        description = f"Value of {content.recipe} on {task}: {how}"
        shown = Markup(
            f'<figure><div class="value" tabindex="0" role="region" aria-label="Picture of the value">'
            f'<img src="{content.picture.url}" alt="{html(description)}"></div></figure>'
        )
    if not content.geometry:
        return shown
    rows = []
    for name, (label, meaning) in MEASURES.items():
        values = [getattr(one, name) for one in content.geometry]
        within = (-1.0, 1.0) if "correlation" in name else (0.0, 1.0)
        rows.append([label, str(estimate(values, within)) if len(values) > 1 else f"{values[0]:.2f}", meaning])
    caption = "The geometry of the surface, over the maze without its walls; mean over all goals"
    return shown + table(caption, ["measure", "value [95 %]", "what it is"], rows, left=9)


def _rollouts(content: Content) -> str:
    if not content.clips:
        return paragraph(content.no_clips, "note")
    films = []
    for clip, file in content.clips:
        name = content.success[clip.task - 1].name if content.success and len(clip.reached) == 1 else "all subtasks"
        title = f"{name}: {in_words(clip.reached)} after {clip.steps} steps"
        films.append(
            f'<figure><video controls muted loop playsinline preload="auto" src="{file.url}" aria-label="{html(title)}"></video>'
            f"<figcaption>{html(title)}</figcaption>"
            f'<button type="button" class="film" aria-label="Play {html(name)}" aria-pressed="false" hidden>Play</button>'
            "</figure>"
        )
    films_id = anchor(content, "films")
    seed = content.description.experiment.seeds[0]
    return (
        f'<button type="button" class="films-all" aria-controls="{films_id}" aria-pressed="false" hidden>Play all</button>'
        f'<div class="films" id="{films_id}">{"".join(films)}</div>'
        + paragraph(f"One episode of each task, seed {seed}'s policy, faster than real time.", "note")
    )


def _command(content: Content) -> str:
    """The command that trains the run again."""
    data = content.description.data
    if data["path"] is None:
        return paragraph("It was trained from Python on arrays, so no command can train it again.")
    command = content.description.command
    files = " and ".join(f"{Path(file['path']).name} with SHA-256 {file['sha256']}" for file in (data, *data.get("added", ())))
    note = f"The same numbers need the same versions and the same data: {files}."
    return f'<pre tabindex="0"><code>{html(command)}</code></pre>{paragraph(note, "note")}'


def _shown(value: object) -> str:
    """A setting as text."""
    if isinstance(value, (list, tuple)):
        return " x ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settings(content: Content) -> Markup:
    about = content.description
    schedule = {f"schedule.{name}": value for name, value in asdict(about.experiment.schedule).items()}
    sizes = {f"shapes.{name}": value for name, value in about.shapes._asdict().items()}
    settings = {**Configured(about.fitted, about.experiment.schedule).settings(), **schedule, **sizes}
    rows = [[name, _shown(value)] for name, value in {**settings, **_signals(about.inputs.signals)}.items()]
    return collapsible("All settings", table("Including what was fitted to the data", ["setting", "value"], rows, left=9))


def _signals(signals: Signals | None) -> dict[str, str]:
    """Names with units of the data's dimensions, and its rate, if they are known."""
    if signals is None:
        return {}
    names = {f"data.{kind}": ", ".join(dimension_names(getattr(signals, kind))) for kind in KINDS}
    rate = {"data.rate": f"{signals.hz:g} Hz"} if signals.hz else {}
    return {**{name: text for name, text in names.items() if text}, **rate}


def _versions(content: Content) -> Markup:
    rows = [[name, text] for name, text in content.versions.items()]
    git = content.git
    rows += [["source", f"{git['commit']}{' with changes' if git['changed'] else ''}"]] if git else []
    return collapsible("Versions", table("Packages it was trained with", ["package", "version"], rows, left=9))
