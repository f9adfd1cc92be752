"""The terminal screen of `cpmon top`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, Static

from ...core.errors import CpmonError
from ...core.text import counted, printable
from ...reduce.live import Interval
from ...reduce.reports.cells import clock
from .panels import EXCEPTIONS, SUBJECTS, Lines, Watched

LOOK_S = 0.2
"""Seconds between looks at the store."""
HELP = "1-6 subject  s sort  r turn  / filter  Enter over time  Space  arrows  e  n  q"


@dataclass(frozen=True)
class Shown:
    """What the screen shows.

    Attributes:
        interval: None before the first one.
        number: of the interval, from the first one of the day, and how many there are.
        line: that of the system in it.
    """

    interval: Interval | None
    lines: Lines
    number: tuple[int, int] = (0, 0)
    line: Lines = field(default_factory=Lines)

    @property
    def notes(self) -> list[str]:
        """The notes of the subject and of the system's line."""
        return list(dict.fromkeys((*self.lines.notes, *self.line.notes)))


class LinesTable(DataTable[Text]):
    """The lines of a subject; keys for time are the screen's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.move(-1)", "Earlier", show=False),
        Binding("right", "app.move(1)", "Later", show=False),
        Binding("space", "app.pause", "Pause", show=False),
    ]

    def show_lines(self, lines: Lines) -> None:
        """Show other lines; the cursor stays on its object, if that is there."""
        before = self.row_count and self.cursor_row
        self.clear(columns=True)
        self.add_columns(*(Text(head) for head in lines.heads))
        for row in zip(*(texts.to_pylist() for texts in lines.cells), strict=True):
            self.add_row(*(Text(printable(cell)) for cell in row))
        self.move_cursor(row=min(before, self.row_count - 1))


class Sheet(ModalScreen[None]):
    """A text, or lines, over the screen; Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", show=False)
    ]

    def __init__(self, title: str, content: str | Lines) -> None:
        super().__init__()
        self._heading, self._content = title, content

    def compose(self) -> ComposeResult:
        """A title, then the content."""
        yield Static(Text(f"{self._heading}  (Escape goes back)"), id="title")
        if isinstance(self._content, str):
            yield VerticalScroll(Static(Text(self._content)), id="text")
        else:
            yield LinesTable(cursor_type="row", id="over-time")

    def on_mount(self) -> None:
        """Fill the lines."""
        if isinstance(self._content, Lines):
            self.query_one(LinesTable).show_lines(self._content)


class TopScreen(App[None]):
    """The last interval of a system, or one before it."""

    CSS = """
    #system, #status, #title { height: auto; }
    #filter { height: 1; border: none; display: none; }
    LinesTable { height: 1fr; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(n), f"subject({n - 1})", name) for n, name in enumerate(SUBJECTS, 1)),
        Binding("s", "sort", "Sort"),
        Binding("r", "turn", "Turn"),
        Binding("slash", "filter", "Filter"),
        Binding("e", "explain", "Explain"),
        Binding("n", "notes", "Notes"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self,
        watched: Watched,
        state: Callable[[], str] = lambda: "",
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Reads nothing yet.

        Args:
            state: what is to be said of the source, beside what has landed.
            now_s: a clock, seconds.
        """
        super().__init__()
        self._watched, self._state, self._said = watched, state, ""
        self._now_s, self._landed_s = now_s, now_s()
        self._version: str | None = None
        self._intervals: list[Interval] = []
        self._at: int | None = None
        self._is_paused = False
        self._subject = SUBJECTS[0]
        self._sort: int | None = None
        self._is_reversed = False
        self._filter = ""
        self.shown = Shown(None, Lines())
        self._lines = Lines()

    def compose(self) -> ComposeResult:
        """The system, its lines, what can be done."""
        yield Static(id="system")
        yield LinesTable(cursor_type="row", id="lines", fixed_columns=1)
        yield Input(placeholder="text in the first column", id="filter", compact=True)
        yield Static(id="status")

    def on_mount(self) -> None:
        """Begin to look at the store."""
        self.query_one("#lines").focus()
        self._status("reading")
        self.set_interval(LOOK_S, self._look)
        self._look()

    def _look(self) -> None:
        """Read again if something has landed."""
        if self._said != (state := self._state() or self._quiet()):
            self._said = state
            self._show(self.shown)
        if self._is_paused:
            return
        version = self._watched.version
        if version != self._version:
            self._version = version
            self._ask(self._read_all, self._show)

    def _quiet(self) -> str:
        """Since when nothing has landed, where the last interval is out of date."""
        quiet_s = self._now_s() - self._landed_s
        if not self._intervals or quiet_s < self._intervals[-1].holds_s:
            return ""
        return f"nothing new for {counted(int(quiet_s // 60) or 1, 'minute')}"

    def _read_all(self) -> Shown:
        """Read the intervals, and the lines of the one that is shown."""
        before, self._intervals = self._intervals[-1:], self._watched.intervals()
        if self._intervals[-1:] != before:
            self._landed_s = self._now_s()
        return self._read()

    def _read(self) -> Shown:
        """Read the lines of the interval that is shown."""
        count = len(self._intervals)
        if not count:
            return Shown(None, Lines(notes=["no interval with figures has landed yet"]))
        at = count - 1 if self._at is None else min(self._at, count - 1)
        interval = self._intervals[at]
        lines, line = self._watched.both(self._subject, interval)
        return Shown(interval, lines, (at + 1, count), line)

    def _ask(self, question: Callable[[], Any], show: Callable[[Any], None]) -> None:
        """Answer a question in a thread; the last one counts."""

        def work() -> None:
            try:
                answer = question()
            except CpmonError as error:
                self.call_from_thread(self._status, str(error).partition("\n")[0])
            else:
                self.call_from_thread(show, answer)

        self.run_worker(work, thread=True, exclusive=True)

    def _show(self, shown: Shown) -> None:
        self.shown = shown
        names = shown.lines.names
        sort = None if self._sort is None or not names else names[self._sort % len(names)]
        lines = shown.lines.chosen(self._filter, sort, is_reversed=self._is_reversed)
        self._lines = lines
        self.query_one("#lines", LinesTable).show_lines(lines)
        self.query_one("#system", Static).update(Text(self._system_text()))
        heads = dict(zip(names, lines.heads, strict=True))
        order = f"by {heads[sort]}{' (turned)' if self._is_reversed else ''}" if sort else ""
        narrowed = f"/{self._filter}" if self._filter else ""
        notes = f"{counted(len(shown.notes), 'note')} (n)" if shown.notes else ""
        paused = "PAUSED" if self._is_paused else ""
        count = counted(len(lines.cells[0]) if lines.cells else 0, "line")
        parts = [self._subject, count, order, narrowed, notes, paused, self._said]
        self._status("  ".join(filter(None, parts)))

    def _system_text(self) -> str:
        """The system's line: as much of it as two lines have room for."""
        interval, (number, count) = self.shown.interval, self.shown.number
        if interval is None:
            return f"{self._watched.system or 'no system'}  nothing yet"
        (_, end), *figures = [*self.shown.line.first.items()] or [("", clock(interval.end))]
        at = f"{self._watched.system}  {end}  interval {number} of {count}"
        texts, width = [], 0
        for head, value in figures:
            text = f"{head} {value or '-'}"
            width += len(text) + 2
            if width > 2 * self.size.width - 10:
                break
            texts.append(text)
        return f"{at}\n{'  '.join(texts)}"

    def _status(self, text: str) -> None:
        self.query_one("#status", Static).update(Text(f"{printable(text)}\n{HELP}"))

    def action_subject(self, number: int) -> None:
        """Show another subject."""
        self._subject, self._sort, self._is_reversed = SUBJECTS[number], None, False
        self._ask(self._read, self._show)

    def action_sort(self) -> None:
        """Order by the next column."""
        self._sort = 0 if self._sort is None else self._sort + 1
        self._show(self.shown)

    def action_turn(self) -> None:
        """Turn the order round."""
        self._is_reversed = not self._is_reversed
        self._show(self.shown)

    def action_pause(self) -> None:
        """Stop showing what lands, or go on with the last."""
        self._is_paused = not self._is_paused
        self._at = len(self._intervals) - 1 if self._is_paused and self._at is None else None
        self._version = None
        self._show(self.shown)

    def action_move(self, by: int) -> None:
        """Show an interval before or after; behind the last one it goes on as they come."""
        count = len(self._intervals)
        at = (count - 1 if self._at is None else self._at) + by
        self._at = None if at >= count and not self._is_paused else max(0, min(at, count - 1))
        self._ask(self._read, self._show)

    def action_filter(self) -> None:
        """Type a text that the first column has to have."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while it is typed."""
        self._filter = event.value
        self._show(self.shown)

    def on_input_submitted(self) -> None:
        """Go back to the lines."""
        self.query_one("#filter", Input).display = False
        self.query_one("#lines").focus()

    def action_explain(self) -> None:
        """Say what was different in the interval."""
        interval = self.shown.interval
        if interval is not None:
            self._status("explaining")
            self._ask(lambda: self._watched.explained(interval), self._show_text)

    def _show_text(self, text: str) -> None:
        self._show(self.shown)
        self._open("What was different", text)

    def _open(self, title: str, content: str | Lines) -> None:
        self.push_screen(Sheet(title, content))

    def action_notes(self) -> None:
        """Show the notes of the subject and of the system."""
        if self.shown.notes:
            self._open(self._subject, "\n".join(self.shown.notes))

    def on_data_table_row_selected(self, event: LinesTable.RowSelected) -> None:
        """Show an object over time."""
        interval = self.shown.interval
        if self._subject == EXCEPTIONS or not self._lines.keys or interval is None:
            return
        key, name = self._lines.keys[event.cursor_row], self._subject
        title = f"{name}: {self._lines.cells[0][event.cursor_row]}"
        self._ask(
            lambda: self._watched.over_time(name, key, interval.end),
            lambda lines: self._open(title, lines),
        )
