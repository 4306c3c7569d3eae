"""A report in a real browser: from disk, by keyboard, on a phone, dark and light."""

from pathlib import Path

import pytest
from browser import browser_page  # noqa: F401  (a fixture)
from reported import reported_run

from mvl.cli import main
from mvl.errors import MvlError
from mvl.machine import renderer
from mvl.report import content
from mvl.runs.video import Shots

pytest.importorskip("imageio_ffmpeg", reason="videos need imageio-ffmpeg")

CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = light(getComputedStyle(document.body).backgroundColor);
  const ratio = (other) => (Math.max(other, behind) + 0.05) / (Math.min(other, behind) + 0.05);
  return ["body", ".lead", ".note", "nav a", "td", "thead th", ".kicker"].map((place) =>
    ratio(light(getComputedStyle(document.querySelector(place)).color)));
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """A report on two runs, one of them filmed."""
    try:
        renderer()
    except MvlError as error:
        pytest.skip(str(error))
    folder: Path = tmp_path_factory.mktemp("page")
    runs = [reported_run(folder / "mollified"), reported_run(folder / "plain", "gcivl", task="antmaze-teleport-navigate-v0")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "SHOTS", Shots(tasks=[1, 2], size=64, fps=10, frames=8))
        assert main(["report", *map(str, runs[:1]), "-o", str(folder / "one.html")]) == 0
    assert main(["report", *map(str, runs), "-o", str(folder / "two.html"), "--no-videos"]) == 0
    return folder.as_uri()


def test_it_opens_from_disk_with_everything_in_it(address, browser_page):  # noqa: F811
    watched = browser_page()
    page = watched.page
    page.goto(f"{address}/one.html")
    page.wait_for_function("[...document.querySelectorAll('video')].every((film) => film.readyState >= 2)")
    assert page.locator("video").count() == 2
    assert page.locator("table caption").count() == page.locator("table").count() == 4
    assert page.locator(".chart svg polyline").count() >= 3
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0 && image.alt)")
    assert watched.errors == []
    assert watched.external_requests() == []


def test_films_play_and_pause(address, browser_page):  # noqa: F811
    page = browser_page().page
    page.goto(f"{address}/one.html")
    page.get_by_role("button", name="Play all").press("Enter")
    page.wait_for_function("[...document.querySelectorAll('video')].every((film) => film.currentTime > 0)")
    page.get_by_role("button", name="Pause all").press("Space")
    page.wait_for_function("[...document.querySelectorAll('video')].every((film) => film.paused)")
    page.get_by_role("button", name="Play task 2").click()
    page.wait_for_function("!document.querySelectorAll('video')[1].paused && document.querySelectorAll('video')[0].paused")


def test_the_keyboard_reaches_everything(address, browser_page):  # noqa: F811
    page = browser_page().page
    page.goto(f"{address}/two.html")
    told = "() => { const at = document.activeElement; return at.id || at.textContent.trim(); }"
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(told))
        if reached[-1] == "theme":
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"  # seen to be there
            for key, theme in (("Enter", "dark"), ("Space", "light")):
                page.keyboard.press(key)
                assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert reached[0] == "Skip to the content"
    assert {"Comparison", "mollified", "plain", "theme", "All settings", "Versions"} <= set(reached)
    summary = page.locator("summary").first
    summary.press("Enter")
    assert page.locator("details").first.evaluate("(one) => one.open")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_readably(dark, address, browser_page):  # noqa: F811
    watched = browser_page(width=360, height=740, dark=dark)
    page = watched.page
    for name in ("one", "two"):
        page.goto(f"{address}/{name}.html")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != behind
    assert page.evaluate("document.getElementById('theme').ariaPressed") == str(not dark).lower()
    assert min(page.evaluate(CONTRAST)) >= 4.5
    page.get_by_role("button", name="Dark").click()
    assert min(page.evaluate(CONTRAST)) >= 4.5
    assert watched.errors == []
