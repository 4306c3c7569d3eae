"""The documentation site: complete, offline, without broken links, and readable in a browser."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from browser import browser_page  # noqa: F401
from pages import DOCS, ROOT, local_links, words_per_sentence

import mvl
from mvl.cli import COMMANDS
from mvl.registry import AXES

sys.path.append(str(ROOT / "scripts"))
import site_pages

ROOT_PAGES = [*ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")]
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if not page.with_suffix(".csv").exists())
"""Pages for readers; a table that a command wrote has its CSV file beside it."""


def in_navigation(entry) -> list[str]:
    """Pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in in_navigation(part)]


def test_every_page_is_in_the_navigation():
    listed = in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in WRITTEN)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("page", [*WRITTEN, *ROOT_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    """As files: on the site the build checks them, and their anchors, too."""
    for path, _ in local_links(page):
        generated = re.search(r"(commands|settings)/(\w+)\.md$", path)
        if generated:
            assert generated[2] in (COMMANDS if generated[1] == "commands" else site_pages.TITLES)
        else:
            assert not path or (page.parent / path).exists(), path


@pytest.mark.parametrize("page", [*WRITTEN, *ROOT_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page):
    assert words_per_sentence(page.read_text()) < 25


def test_every_public_name_is_in_the_reference():
    shown = re.findall(r"^::: \S+\.(\w+)$", (DOCS / "reference" / "python.md").read_text(), re.M)
    assert set(mvl.__all__) <= set(shown)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_a_command_has_every_flag(command):
    text = site_pages.command_page(command)
    for parser in site_pages.parsers(command):
        for action in parser._actions:
            for flag in action.option_strings:
                assert f"`{flag}" in text


def test_commands_with_actions_have_all_of_them():
    assert [parser.prog for parser in site_pages.parsers("goals")] == [f"mvl goals {name}" for name in ("add", "list", "remove")]
    assert len(site_pages.parsers("data")) == 6
    assert "`--temperature TEMPERATURE`\n:   standard deviation" in site_pages.command_page("plot")
    assert "(default: `0.4`)" in site_pages.command_page("plot")


def test_the_page_of_an_axis_has_every_setting():
    assert list(site_pages.TITLES) == [*AXES, "training"]
    text = site_pages.setting_page("regularizer")
    assert "::: mvl.regularizers.mollified.Mollified" in text
    assert "          - viscosity\n" in text
    assert "## none\n\n::: mvl.regularizers.none.Unregularized" in text
    assert "members: false" in text


def build(folder: Path) -> None:
    """Build the site into a folder. A warning would fail the build."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stdout + done.stderr


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path):
    """The address of a folder that is served on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_it_is_built_and_reads_well_in_a_browser(tmp_path, address, request):
    """One test, since the site takes some seconds to build."""
    build(tmp_path)
    assert {path.stem for path in (tmp_path / "reference" / "commands").glob("*.html")} == set(COMMANDS)
    assert 'id="mvl.runs.training.train"' in (tmp_path / "reference" / "python.html").read_text()
    open_page = request.getfixturevalue("browser_page")  # without a browser, skips from here on
    walk_through(open_page(width=1400), address)
    for dark in (False, True):
        read_on_a_phone(open_page(width=390, dark=dark), address, dark)


def walk_through(watched, address):
    """Start, first run, own data, reference, search."""
    page = watched.page
    page.goto(f"{address}/index.html")
    steps = {"First run": "First run", "your own data": "Your own data", "Reference": "Reference", "Python": "Python"}
    for link, title in steps.items():
        page.get_by_role("link", name=link, exact=True).first.click()
        page.wait_for_selector(f"h1:has-text('{title}')")
    page.get_by_placeholder("Search").fill("antithetic")
    page.wait_for_selector(".md-search-result__item a")
    found = page.eval_on_selector_all(".md-search-result__item a", "links => links.map(link => link.href)")
    assert any("settings/regularizer" in link for link in found)
    assert not watched.errors
    assert not watched.external_requests()


def read_on_a_phone(watched, address, dark):
    """Nothing is wider than the screen, and the theme is the system's."""
    page = watched.page
    for name in ("index", "data", "reference/commands/train", "reference/python", "results/index"):
        page.goto(f"{address}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark
    assert not watched.errors
    assert not watched.external_requests()
