"""A headless Chromium that opens files and answers questions, over its DevTools pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tests.waiting import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
RULES = (*("wcag2a", "wcag2aa", "wcag21a", "wcag21aa"), "best-practice")
"""Of axe-core: level AA of the guidelines, and good practice."""
# Chromium reads commands from descriptor 3 and writes answers to 4, each ended by a zero byte.
_PIPED = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    "os.execvp(sys.argv[3], sys.argv[3:])"
)


def find_chromium() -> str | None:
    """The program, if it is installed."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Tab:
    """One page of a browser.

    Attributes:
        complaints: errors of scripts and of the console, in the order in which they came.
        requested: addresses that were asked for.
    """

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._rest = commands, answers, b""
        self._session: str | None = None
        self._number = 0
        self.complaints: list[str] = []
        self.requested: list[str] = []
        self._loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **values: Any) -> dict[str, Any]:
        """One command, and its answer; what happens meanwhile is noted."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._commands, json.dumps(said).encode() + b"\0")
        for told in self._told():
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                answer: dict[str, Any] = told["result"]
                return answer
            self._note(told)
        raise AssertionError(f"no answer from Chromium to {method}")

    def open(self, place: Path | str) -> float:
        """Open a file or address; returns the seconds until its script had run."""
        self._loaded = False
        self.send("Page.navigate", url=place if isinstance(place, str) else place.as_uri())
        return self._wait()

    def follow(self, expression: str) -> float:
        """Ask a JavaScript expression that leads to another page, and wait until that is open."""
        return self.after(lambda: self.ask(expression))

    def after(self, act: Callable[[], object]) -> float:
        """Do what leads to another page, and wait until that is open."""
        self._loaded = False
        act()
        return self._wait()

    def _wait(self) -> float:
        told = self._told()
        while not self._loaded:
            message = next(told, None)
            assert message, "Chromium did not open the page in time"
            self._note(message)
        entry = "performance.getEntriesByType('navigation')[0]"
        return float(self.ask(f"{entry}.loadEventEnd || {entry}.duration")) / 1000

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, or of what it promises."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def violations(self, *places: str) -> list[Any]:
        """The rules of accessibility that parts of the page break, and where (axe-core)."""
        self.ask(files("axe_playwright_python").joinpath("axe.min.js").read_text() + "; 0")
        options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
        context = {"include": [[place] for place in places]}
        found: list[Any] = self.ask(
            f"axe.run({json.dumps(context)}, {json.dumps(options)})"
            ".then(result => result.violations.map(v =>"
            " [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))]))"
        )
        return found

    def press(self, keys: str) -> None:
        """Press a key and let it go, also as Shift+End or Ctrl+Enter."""
        *held, key = [keys] if len(keys) == 1 else keys.split("+")
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Tab": 9, "Enter": 13}.get(key, 0)
        modifiers = sum({"Ctrl": 2, "Shift": 8}[name] for name in held)
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def look(self, **media: str) -> None:
        """Emulate media: media="print", or features as prefers_color_scheme="dark"."""
        kind = media.pop("media", "")
        features = [{"name": k.replace("_", "-"), "value": v} for k, v in media.items()]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)

    def resize(self, width: int, height: int = 844) -> None:
        """Show the page in a window of that size; one narrower than 800 is a phone's."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def picture(self, **values: Any) -> bytes:
        """What the window shows; as PNG without values of `Page.captureScreenshot`."""
        return base64.b64decode(self.send("Page.captureScreenshot", **values)["data"])

    def pixels(self, picture: bytes, width: int, height: int) -> Any:
        """(height, width, 3) colours 0..255 of a picture, scaled to that size by the browser."""
        answer = self.ask(
            f"""(async () => {{
              const bytes = Uint8Array.from(atob("{base64.b64encode(picture).decode()}"),
                                            (c) => c.charCodeAt(0));
              const bitmap = await createImageBitmap(new Blob([bytes]));
              const context = new OffscreenCanvas({width}, {height}).getContext("2d");
              context.imageSmoothingQuality = "high";
              context.drawImage(bitmap, 0, 0, {width}, {height});
              return [...context.getImageData(0, 0, {width}, {height}).data];
            }})()"""
        )
        return np.array(answer, dtype=float).reshape(height, width, 4)[:, :, :3]

    def _note(self, told: dict[str, Any]) -> None:
        about = told.get("params", {})
        match told.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(about["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if about["type"] in {"error", "warning", "assert"}:
                self.complaints.append(json.dumps(about["args"]))
            case "Log.entryAdded" if about["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(about["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requested.append(about["request"]["url"])

    def _told(self) -> Iterator[dict[str, Any]]:
        """What Chromium says, message by message."""
        until = time.monotonic() + PATIENCE_S
        while True:
            message, zero, rest = self._rest.partition(b"\0")
            if zero:
                self._rest = rest
                yield json.loads(message)
                continue
            left = max(until - time.monotonic(), 0)
            if not select.select([self._answers], [], [], left)[0]:
                return
            more = os.read(self._answers, 1 << 20)
            if not more:
                return
            self._rest += more


@contextmanager
def chromium(program: str, profile: Path, *options: str) -> Iterator[Tab]:
    """A tab of a new browser, which ends with the block."""
    read_commands, commands = os.pipe()
    answers, write_answers = os.pipe()
    arguments = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"),
        *(f"--user-data-dir={profile}", "--window-size=1400,1000", *options, "about:blank"),
    ]
    ends = [str(read_commands), str(write_answers)]
    with subprocess.Popen(
        [sys.executable, "-c", _PIPED, *ends, program, *arguments],
        pass_fds=(read_commands, write_answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        os.close(read_commands)
        os.close(write_answers)
        try:
            yield Tab(commands, answers)
        finally:
            running.terminate()
            running.wait()
            os.close(commands)
            os.close(answers)
