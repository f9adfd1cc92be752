"""Runs a batch (the one place that knows the order of its steps), or repeatedly for `--watch`."""

from __future__ import annotations

import ctypes
import gc
import json
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import FrameType

import duckdb
import pyarrow.compute as pc

from ..config import Settings
from ..config.moments import find_zone
from ..core.errors import BusyError, CpmonError, StoreError
from ..core.grace_period import day_bounds
from ..reduce.engine.reducing import reduce
from ..reduce.reductions.reductions import reductions
from ..reduce.rules.exceptions import exceptions
from ..reduce.rules.rule import Purpose, Severity, load_rules
from ..store import Store, connect
from ..store.connection import Connection
from ..store.results.lineage import lineages
from ..store.results.retention import plan as prune_plan
from ..store.results.retention import prune, retention
from ..store.sql.scope import ALL, Scope
from .hooks import run_hook
from .intake import Intake
from .log import ascii_error, ascii_line, error_code, log
from .outputs import OutputWriter, Write
from .plan import BatchPlan, output_path
from .result import BatchResult, Event, ExitStatus
from .state import FOLDER, State, append_history, exclusive_lock, load_state
from .summary import render_summary


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets within the block; a second signal interrupts at once."""
    event = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if event.is_set():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a third signal ends the process
            raise KeyboardInterrupt
        event.set()

    numbers = (signal.SIGTERM, signal.SIGINT)
    previous = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield event
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def release_memory() -> None:
    """Collect cyclic garbage, and return free pages to the system if possible."""
    gc.collect()
    with suppress(OSError, AttributeError):  # C libraries other than glibc lack the function
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)


MAX_WORST = 12
"""Maximum number of exceptions in a result."""


@dataclass
class BatchRunner:
    """Runs the batches of a store.

    Attributes:
        write: replaces a file atomically.
        should_stop: called between steps; true stops the batch.
        last: result of the last batch that was not silent, which the metrics show.
    """

    store: Store
    plan: BatchPlan
    settings: Settings
    write: Write
    should_stop: Callable[[], bool] = lambda: False
    last: BatchResult | None = None

    def __post_init__(self) -> None:
        """Limits malloc arenas, as the process runs nothing but batches.

        The window of a dump briefly takes 20 MB on its own thread. glibc gives threads separate
        arenas and keeps free pages at the end of each: with 72 small files a day the process grew
        by 20 to 30 MB in a week, and far more with large files.
        """
        with suppress(OSError, AttributeError):
            if sys.platform == "linux":
                # M_ARENA_MAX: so many as threads at work; more saved no time.
                ctypes.CDLL(None).mallopt(-8, 2)

    @property
    def folder(self) -> Path:
        """The folder of the state."""
        return self.store.root / FOLDER

    def run(self, today: date | None = None, *, idle: bool = True) -> BatchResult:
        """Run one batch.

        Args:
            today: reference day of the retention, UTC.
            idle: also report a batch with nothing to do: call the hook, append to the history, and
                replace the summaries and the last result.

        Raises:
            BusyError: another batch is running.
        """
        now = datetime.now(UTC)
        result = BatchResult(f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}", now)
        log.run = result.run
        with exclusive_lock(self.folder, result.run) as is_after_kill:
            state = load_state(self.store, self.folder)
            if is_after_kill:  # the store has its last dumps, the saved totals do not
                state.recount(self.store)
            self._run_steps(state, result, today or now.date())
            self._finish(state, result, idle=idle)
        if result.did_something:
            release_memory()
        return result

    def _run_steps(self, state: State, result: BatchResult, today: date) -> None:
        intake = Intake(self.store, self.plan, state, self.folder, self.settings, self.should_stop)
        with self._step("retain", result):
            self._retain(state, today, result)
        with self._step("land", result):
            intake.run(result)
        state.save(self.folder)
        unwritten: set[tuple[str, date]] = set()
        changed = {system: set(days) for system, days in state.open.items() if days}
        result.days = sum(map(len, changed.values()))
        if not changed or self._is_interrupted(result):
            return
        with self._step("reduce", result):
            # Reductions over all days would be recomputed for each new dump, ever more slowly; a
            # report that needs one computes it.
            daily = [each.name for each in lineages(reductions()) if each.by_time and each.public]
            reduce(self.store, daily, self.settings)
        if self._is_interrupted(result):
            return
        if self.plan.batch.validate:
            with self._step("validate", result):
                self._validate(changed, result)
        with self._step("connect", result), connect(self.store, reductions()) as con:
            if self.plan.batch.exceptions:
                with self._step("exceptions", result):
                    self._find_exceptions(con, changed, result)
            with self._step("outputs", result):
                writer = OutputWriter(con, self.settings, self.write)
                writer.run(self.plan.outputs, changed, result)
                unwritten = writer.unwritten
        if not result.counts["failures"]:
            state.open.clear()
            for system, day in unwritten:
                for name in [system] if system else changed:
                    state.open.setdefault(name, set()).add(day)

    def _is_interrupted(self, result: BatchResult) -> bool:
        result.interrupted = result.interrupted or self.should_stop()
        return result.interrupted

    @contextmanager
    def _step(self, name: str, result: BatchResult) -> Iterator[None]:
        """Time a step and record its failure; a failure does not stop other steps."""
        started = time.perf_counter()
        try:
            yield
        except (CpmonError, OSError, duckdb.Error) as error:
            result.note("failures", name, ascii_error(error), error_code(error))
            log.error("step failed", step=name, reason=error)
        except Exception as error:  # noqa: BLE001 - the other steps are still worth doing
            result.note("failures", name, ascii_line(f"{type(error).__name__}: {error}"))
            log.exception("step failed", step=name, reason=error)
        finally:
            result.steps[name] = round(time.perf_counter() - started, 3)

    def _retain(self, state: State, today: date, result: BatchResult) -> None:
        """Apply the retention, once a day."""
        if not self.settings.retention or state.pruned == today:
            return
        limits = retention(self.settings.retention, self.settings.place)
        self.store.clean()
        obsolete = prune_plan(self.store, reductions(), limits, today)
        result.removed = (len(obsolete.files), obsolete.bytes(self.store))
        prune(self.store, obsolete)
        state.pruned = today

    def _bounds(self, system: str, days: set[date]) -> tuple[datetime, datetime]:
        """UTC bounds from the first to the last of the days of a system."""
        return day_bounds(min(days), max(days), find_zone(self.settings.zone(system)))

    def _validate(self, changed: Mapping[str, set[date]], result: BatchResult) -> None:
        """Validate the changed days of each system."""
        from ..reduce.rules.validation import Status, validate_spans

        scopes = []
        for system, days in sorted(changed.items()):
            since, until = self._bounds(system, days)
            scopes.append(Scope(system, since.replace(tzinfo=None), until.replace(tzinfo=None)))
        for validation in validate_spans(self.store, scopes, self.settings):
            system = str(validation.coverage.scope.system)
            for outcome in validation.of(Status.FAILED):
                severity, rule = str(outcome.rule.severity), outcome.rule.id
                result.validation[severity] += 1
                detail = f"{severity} {rule}: {outcome.bad:,} of {outcome.checked:,}"
                result.note("broken", system, detail)
                log.warning("rule broken", system=system, rule=rule)

    def _find_exceptions(
        self, con: Connection, changed: Mapping[str, set[date]], result: BatchResult
    ) -> None:
        """Find exceptions in the changed days of each system."""
        events: list[tuple[int, Event]] = []
        rules = load_rules(Purpose.EXCEPTIONS, self.settings)
        for system, days in sorted(changed.items()):
            since, until = self._bounds(system, days)
            table = exceptions(
                con, rules, system=system, since=since, until=until, settings=self.settings
            ).table
            for counts in pc.value_counts(table.column("severity")).to_pylist():
                result.exceptions[counts["values"]] += counts["counts"]
            for row in table.slice(0, MAX_WORST).to_pylist():
                name = f"{row['severity']} {row['rule']} {row['object'] or ''}".rstrip()
                event = Event(system, f"{name} {row['first_interval']:%m-%d %H:%M}")
                events.append((Severity(row["severity"]).rank, event))
        con.point(ALL)
        events.sort(key=lambda entry: -entry[0])
        result.worst = [event for _, event in events[:MAX_WORST]]

    def _finish(self, state: State, result: BatchResult, *, idle: bool) -> None:
        """Call the hook, write summaries, metrics and history, and save the state."""
        is_silent = not idle and not result.did_something
        now = datetime.now(UTC).timestamp()
        for system, totals in state.systems.items():
            if totals.last is not None:
                part = result.system(system)
                part.last = totals.last / 1e6
                part.lag = max(0.0, now - part.last)
        if not result.interrupted and not is_silent:
            run_hook("hook_end", self.plan.batch, result.as_dict(), result)
        result.ended = datetime.now(UTC)
        if result.status in (ExitStatus.DONE, ExitStatus.WARNINGS):
            state.last_success = result.ended.timestamp()
        if not is_silent:
            self.last = result
        self._publish(state, result)
        state.save(self.folder)
        if is_silent:
            return
        append_history(self.folder, result, max(1, self.plan.batch.history))
        seconds = round(result.seconds, 1)
        log.info("ended", status=int(result.status), landed=result.landed, seconds=seconds)

    def _publish(self, state: State, result: BatchResult) -> None:
        """Write metrics, and summaries unless the batch is silent."""

        def metrics() -> str:
            from .metrics import render_metrics

            return render_metrics(state, self.last or result, result.ended)

        options = self.plan.batch
        files: list[tuple[Path | None, Callable[[], str]]] = [(options.metrics, metrics)]
        if result is self.last:
            files += [
                (options.summary, lambda: render_summary(result)),
                (options.summary_json, lambda: json.dumps(result.as_dict(), indent=1) + "\n"),
            ]
        for path, render in files:
            if path is None:
                continue
            try:
                self.write(output_path(path, result.started.date()), render().encode())
            except (CpmonError, OSError) as error:
                result.note("trouble", str(path), ascii_error(error), error_code(error))
                log.error("not written", path=path, reason=error)


def watch(
    runner: BatchRunner, stop: threading.Event, report: Callable[[BatchResult], None]
) -> ExitStatus:
    """Run batches at the interval of the plan until `stop` is set.

    Args:
        report: called with the result of each batch that did something.

    Returns:
        DONE, because stopping is the normal end.
    """
    interval_s = max(1.0, runner.plan.batch.watch.seconds)
    log.info("watching", every=interval_s)
    while not stop.is_set():
        try:
            result = runner.run(idle=False)
            if result.did_something and not result.interrupted:
                report(result)
        except BusyError as error:
            log.warning("busy", reason=error)
        except StoreError as error:  # e.g. disk full; the next batch may succeed
            log.error("not done", reason=error)
        stop.wait(interval_s)
    log.info("stopped")
    return ExitStatus.DONE
