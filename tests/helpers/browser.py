"""Headless Chromium for tests of pages; records the errors and the network requests of each page."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Watched:
    """A page with the errors on its console and the addresses it requested."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def external_requests(self) -> list[str]:
        """Requested addresses outside this machine."""
        local = ("file:", "data:", "blob:", "about:", *(f"{scheme}://{host}" for scheme in ("http", "ws") for host in LOOPBACK))
        return [url for url in self.requests if not url.startswith(local)]


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@pytest.fixture
def browser_page() -> Iterator[Any]:
    """A function that opens pages: `browser_page(width=..., height=..., dark=...)`."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here; install Debian's package `chromium` to test pages in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--use-gl=swiftshader"])

        def open_page(width: int = 1200, height: int = 800, dark: bool = False, **options: Any) -> Watched:
            scheme = "dark" if dark else "light"
            viewport: Any = {"width": width, "height": height}
            return Watched(browser.new_page(viewport=viewport, color_scheme=scheme, **options))

        yield open_page
        browser.close()
