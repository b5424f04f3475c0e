"""Control a headless Chromium over its DevTools pipe. Only the browser is required, and no port is opened."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lib.project import skip
from tests.lab.testbed import Unavailable, packages

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OF_DEBIAN = "/usr/bin/chromium"
DEADLINE = 60
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
           "--force-color-profile=srgb", "--force-device-scale-factor=1", "--font-render-hinting=none", "--remote-debugging-pipe"]


def program() -> str | None:
    """Return the path of the browser: HCCN_CHROMIUM, else one in PATH, else None."""
    return next(filter(None, map(shutil.which, filter(None, (os.environ.get("HCCN_CHROMIUM"), *PROGRAMS)))), None)


def install() -> None:
    """Install a browser if there is none, or wait while another process does. Raise Unavailable with the reason."""
    if program() in (None, OF_DEBIAN):
        packages.ensure({"chromium": "chromium"}, "the page")


class Failed(Exception):
    """A command of the browser failed."""


class Browser:
    """A browser with one page. ``requests``: the addresses that the page requested."""

    def __init__(self, process: subprocess.Popen[bytes], out: int, back: int) -> None:
        self._process, self._out, self._back = process, out, back
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._seen: list[str] = []
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **({"sessionId": self._session} if self._session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._back], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._back, 1 << 20) if ready else b""
            if not data:
                raise Failed("the browser does not answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("text", "exception"))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method:
            self._seen.append(method)

    def wait_for(self, event: str) -> None:
        end = time.monotonic() + DEADLINE
        while event not in self._seen:
            self._next(end)

    def screen(self, width: int, height: int, dark: bool = False, media: str = "") -> None:
        """Set the size of the window, the colour scheme and the media type (``print`` for paper)."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def scripts(self, on: bool) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, path: Path) -> float:
        """Open a file and return the seconds until it is loaded and painted."""
        start = time.perf_counter()
        self.show(path)
        self.call("Page.captureScreenshot", format="jpeg", quality=1)
        return time.perf_counter() - start

    def show(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._seen.clear()
        self.requests.clear()
        self.errors.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, also if the scripts of the page are disabled."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(str(answer["exceptionDetails"].get("exception", {}).get("description", answer["exceptionDetails"])))
        return answer["result"].get("value")

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def until(self, expression: str) -> Any:
        """Wait until the expression is true and return its value."""
        end = time.monotonic() + DEADLINE
        while not (found := self.value(expression)):
            if time.monotonic() > end:
                raise Failed(f"never true: {expression}")
            time.sleep(0.02)
        return found

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        """Return red, green and blue of a pixel of the screen."""
        left, top = self.value("[scrollX, scrollY]")
        clip = {"x": left + x, "y": top + y, "width": 1, "height": 1, "scale": 1}
        return _only_pixel(base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip)["data"]))

    def picture(self, whole: bool = False) -> bytes:
        """Return a screenshot as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with a new profile in ``folder``. Raise Failed if none is installed."""
    found = program()
    if found is None:
        raise Failed("no Chromium in PATH")
    to_browser, out = os.pipe()
    back, from_browser = os.pipe()

    def wires() -> None:  # the browser reads descriptor 3 and writes 4
        one, other = os.dup(to_browser), os.dup(from_browser)
        os.dup2(one, 3)
        os.dup2(other, 4)

    process = subprocess.Popen([found, *OPTIONS, f"--user-data-dir={folder}/profile", "about:blank"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wires, pass_fds=(3, 4), close_fds=True,
                               env={**os.environ, "HOME": str(folder)})
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(process, out, back)
    finally:
        os.close(out)
        os.close(back)
        try:
            process.wait(10)  # the browser ends when its pipe is closed
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@contextmanager
def browser_or_skip(folder: Path) -> Iterator[Browser]:
    """Do the same as browser, but skip the test if no browser is installed and none can be."""
    try:
        install()
    except Unavailable as reason:
        skip("chromium", str(reason))
    with browser(folder) as started:
        yield started


def _only_pixel(content: bytes) -> tuple[int, int, int]:
    """Return the pixel of an 8-bit RGB or RGBA PNG of one pixel, to which PNG filters make no difference."""
    place, body = 8, b""
    while place < len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        body += content[place + 8:place + 8 + length] if name == b"IDAT" else b""
        place += 12 + length
    red, green, blue = zlib.decompress(body)[1:4]
    return red, green, blue
