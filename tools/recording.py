"""The recording of the README: `python -m tools.recording` writes docs/recording.svg.

A system is generated and followed, and `cpmon top` shows its intervals as they land: the real
commands on real data, and the text that stands on their screens, as an SVG that moves.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App

from cpmon.cli.store.follow_command import report_landed
from cpmon.cli.top.panels import Watched
from cpmon.cli.top.screen import TopScreen
from cpmon.config import Settings
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest.following import Follower
from cpmon.store import Store

FILE = Path(__file__).parent.parent / "docs" / "recording.svg"
SCENARIO, RUN, INTERVALS = "bank-day", "BANKDAY", 4
FOLLOW = f"$ cpmon generate {SCENARIO} --pace 60x -o - | cpmon follow - --store perf/"
TOP = "$ cpmon top --store perf/"
COLUMNS, LINES = 80, 24
WIDTH, HEIGHT, MARGIN = 8.4, 18, 12
"""Of a character and a line, and around them, in pixels."""
BACKGROUND, COLOUR = "#1b1f24", "#d7dce2"


@dataclass(frozen=True)
class Frame:
    """What stands on a screen, and for how long."""

    text: str
    seconds: float


def screen_text(app: App[None]) -> str:
    """What stands on the screen of an application, without colour."""
    strips = app.screen._compositor.render_strips()
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


def frames(folder: Path) -> list[Frame]:
    """The frames; `folder` is where the store is made."""
    store = Store(folder / "perf", create=True)
    chunks = map(bytes, dump_frames(load_scenario(SCENARIO), RUN, intervals=INTERVALS))
    with Follower(store, "standard input") as follower:
        printed = _printed(follower, chunks)
        shown = [Frame(FOLLOW, 2.0)]
        for _ in range(INTERVALS - 1):
            shown.append(Frame(f"{shown[-1].text}\n{next(printed)}", 1.0))
        shown.append(Frame(TOP, 1.5))
        return shown + asyncio.run(_screens(store, printed))


def _printed(follower: Follower, chunks: Iterator[bytes]) -> Iterator[str]:
    """What `cpmon follow` prints of each part, as it has landed."""
    for landed in follower.follow(chunks):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            report_landed(landed, set())
        yield out.getvalue().rstrip()


async def _screens(store: Store, printed: Iterator[str]) -> list[Frame]:
    """What `cpmon top` shows while another interval lands, and when some keys are typed."""
    app = TopScreen(Watched(store, Settings()))
    async with app.run_test(size=(COLUMNS, LINES)) as pilot:

        async def shot() -> Frame:
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            return Frame(screen_text(app), 3.0)

        shown = [await shot()]
        before = app.shown.number
        next(printed)
        while app.shown.number == before:
            await pilot.pause(0.1)
        shown.append(await shot())
        for key in ("2", "3", "1"):
            await pilot.press(key)
            shown.append(await shot())
        await pilot.press("enter")
        while len(app.screen_stack) == 1:
            await pilot.pause(0.1)
        return [*shown, await shot()]


def svg(shown: list[Frame]) -> str:
    """An image that shows one frame after the other, and begins again; the longest if still."""
    length = sum(frame.seconds for frame in shown)
    still = max(range(len(shown)), key=lambda n: len(shown[n].text))
    parts, at = list[str](), 0.0
    for number, frame in enumerate(shown):
        times = f"0;{at / length:.4f};{min(1.0, (at + frame.seconds) / length):.4f}"
        at += frame.seconds
        lines = "".join(_line(n, line) for n, line in enumerate(frame.text.splitlines()))
        parts.append(
            f'<g visibility="{"visible" if number == still else "hidden"}">'
            f'<animate attributeName="visibility" values="hidden;visible;hidden" keyTimes="{times}"'
            f' dur="{length:g}s" calcMode="discrete" repeatCount="indefinite"/>{lines}</g>\n'
        )
    width, height = COLUMNS * WIDTH + 2 * MARGIN, LINES * HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' width="{width:g}" height="{height:g}" role="img" aria-label="A system is followed">\n'
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>\n'
        f'<g font-family="monospace" font-size="14" fill="{COLOUR}" xml:space="preserve">\n'
        f"{''.join(parts)}</g>\n</svg>\n"
    )


def _line(number: int, line: str) -> str:
    if not line.strip():
        return ""
    y = MARGIN + (number + 0.75) * HEIGHT
    return (
        f'<text x="{MARGIN}" y="{y:g}" textLength="{len(line) * WIDTH:g}"'
        f' lengthAdjust="spacingAndGlyphs">{escape(line)}</text>\n'
    )


def recording() -> str:
    """The image, made anew."""
    with TemporaryDirectory() as folder:
        return svg(frames(Path(folder)))


def main() -> int:
    """Write the image."""
    FILE.write_text(recording(), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
