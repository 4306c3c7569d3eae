"""Pages of the documentation that are written when it is built (a hook of mkdocs.yml): commands, settings, changes.

Commands and flags come from the parsers of `mvl.cli`, settings from the parts that `mvl.registry` finds. So a new command,
flag or part is on the site without a change here.
"""

import argparse
import contextlib
import importlib
import io
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from mvl.cli import COMMANDS
from mvl.cli.parser import Parser
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Learning
from mvl.registry import AXES, names, part_class

ROOT = Path(__file__).parents[1]
COMMAND_PAGES, SETTING_PAGES = "reference/commands", "reference/settings"
TITLES = {
    "representation": "Representations",
    "regularizer": "Regularizers",
    "value": "Values",
    "policy": "Policies",
    "encoder": "Encoders",
    "training": "Training",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the generated pages to the navigation."""
    sections: list[dict[str, Any]] = list(config.nav or [])
    (reference,) = (section["Reference"] for section in sections if "Reference" in section)
    reference.append({"Commands": [{f"mvl {name}": f"{COMMAND_PAGES}/{name}.md"} for name in COMMANDS]})
    reference.append({"Settings": [{title: f"{SETTING_PAGES}/{name}.md"} for name, title in TITLES.items()]})
    (notes,) = (section["Notes"] for section in sections if "Notes" in section)
    notes.append({"Changes": "changes.md"})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the files."""
    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of every generated page."""
    for name in COMMANDS:
        yield f"{COMMAND_PAGES}/{name}.md", command_page(name)
    for name in TITLES:
        yield f"{SETTING_PAGES}/{name}.md", setting_page(name)
    yield "changes.md", (ROOT / "CHANGELOG.md").read_text()


class _FoundError(Exception):
    """Carries the parser of a command out of it."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser


def parsers(command: str) -> list[Parser]:
    """The parsers of a command: its own, or one for each of its actions."""
    run = importlib.import_module(f"mvl.cli.{command}").run
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        parser = _parser(run, ["--help"])
    if parser is not None:
        return [parser]
    actions = re.findall(r"^  (\w+) {2,}\S", printed.getvalue(), re.M)
    return [found for action in actions if (found := _parser(run, [action])) is not None]


def _parser(run: Any, words: list[str]) -> Parser | None:
    """The parser that reads the arguments of a command; nothing after it is run. None: the command needs an action first."""

    def found(self: Parser, *_: Any) -> Any:
        raise _FoundError(self)

    original = Parser.parse_known_args
    Parser.parse_known_args = found  # type: ignore[assignment]
    try:
        run(words)
    except _FoundError as error:
        return error.parser
    finally:
        Parser.parse_known_args = original  # type: ignore[method-assign]
    return None


def command_page(name: str) -> str:
    """The reference page of a command."""
    every = parsers(name)
    assert every, f"mvl {name} has no parser"
    head = f"# mvl {name}\n\n{COMMANDS[name]}\n"
    return head + "\n".join(_described(parser, alone=len(every) == 1) for parser in every) + _EXTRA.get(name, "")


_EXTRA = {
    "train": "\nEvery setting of the [parts](../settings/regularizer.md) and of [training](../settings/training.md) is a flag.\n"
}


def _described(parser: Parser, alone: bool) -> str:
    """A parser as Markdown: its usage, what it does, and its arguments group by group."""
    lines = [] if alone else [f"\n## {parser.prog}\n"]
    usage = parser.format_usage().removeprefix("usage: ").strip()
    lines += [*([_prose(parser.description) + "\n"] if parser.description and not alone else []), f"```text\n{usage}\n```\n"]
    level = "##" if alone else "###"
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if shown:
            lines += [f"{level} {(group.title or 'options').capitalize()}\n", *map(_argument, shown)]
    return "\n".join(lines)


def _argument(action: argparse.Action) -> str:
    """An argument as an entry of a definition list."""
    value = action.metavar or (", ".join(map(str, action.choices)) if action.choices else action.dest.upper())
    value = " ".join(value) if isinstance(value, tuple) else value
    takes_value = action.nargs != 0
    if action.option_strings:
        written = ", ".join(f"`{flag} {value}`" if takes_value else f"`{flag}`" for flag in action.option_strings)
    else:
        written = f"`{value}`"
    text = _prose((action.help or "").replace("%%", "%"))
    default = action.default
    if takes_value and default not in (None, argparse.SUPPRESS, False, []) and "default" not in text:
        text += f" (default: `{default}`)"
    return f"{written}\n:   {text}\n"


def _prose(text: str | None) -> str:
    """Help text as Markdown: what a page could take for markup is escaped."""
    return re.sub(r"([*_<\[])", r"\\\1", text or "") if "`" not in (text or "") else (text or "")


def setting_page(name: str) -> str:
    """The reference page of an axis, with every part's settings; or of what is set for the training as a whole."""
    if name == "training":
        parts = {"Learning": Learning, "Schedule": Schedule}
        about = "Flags of `mvl train`, arguments of `mvl.train`, and fields of `run.json`: how the parts are trained together."
    else:
        every = {part: part_class(name, part) for part in names(name)}
        parts = {part: made for part, made in every.items() if made.__module__.startswith(AXES[name])}  # no plug-ins
        about = f"`--{name} NAME` chooses one, `--{name}.SETTING VALUE` sets a field; from Python, `{name}=` an object does both."
    return f"# {TITLES[name]}\n\n{about}\n\n" + "\n".join(_settings(title, part) for title, part in parts.items())


def _settings(title: str, part: type[Any]) -> str:
    """A part and its settings, from the docstrings of its fields."""
    members = "".join(f"\n          - {field.name}" for field in fields(part)) or " false"
    return (
        f"## {title}\n\n::: {part.__module__}.{part.__qualname__}\n    options:\n      show_root_heading: false\n"
        f"      show_root_toc_entry: false\n      heading_level: 3\n      members:{members}\n"
    )
