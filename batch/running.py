"""One run of a batch: the one place that knows the order of its steps."""

from __future__ import annotations

import json
import secrets
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ..reduce.exceptions import exceptions_of, load_rules, scope_of
from ..reduce.reducing import reduce
from ..reduce.reductions import reductions
from ..reduce.rule import Severity
from ..reduce.settings import Settings
from ..reduce.shifts import find_zone
from ..schemas.errors import CpmonError
from ..store import Store
from ..store.gathered import gathered
from ..store.retention import plan as prune_plan
from ..store.retention import prune, retention
from ..store.span_samples import SpanSamples
from ..store.stamps import bases
from .giving_back import few_arenas, give_back
from .history import remember
from .hooks import call
from .intake import Intake
from .lock import only_one
from .log import Log
from .memory import Memory, recall
from .metrics import metrics
from .naming import file_for
from .outputs import Write, Writer
from .plain import plain_error, plain_line
from .plan import Plan
from .result import Ended, Event, Result
from .spans import bounds
from .summary import summary

FOLDER = "batch"
"""Folder of a store with what batches remember."""
WORST = 12
"""Exceptions that are named in the summary."""


def _by_time() -> list[str]:
    """The reductions that are kept day by day.

    The others are of all time: each new dump would make them anew, ever more slowly. A report that
    needs one computes it.
    """
    return [basis.name for basis in bases(reductions()) if basis.by_time and basis.public]


class Batch:
    """The batch of one store.

    Attributes:
        stopped: asked between steps; true ends the work.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        settings: Settings,
        log: Log,
        write: Write,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.store, self.plan, self.settings = store, plan, settings
        self.log, self.write, self.stopped = log, write, stopped
        self.folder = store.root / FOLDER
        few_arenas()

    def run(self, today: date | None = None, *, idle: bool = True) -> Result:
        """Do what is to be done now.

        Args:
            today: the day from which ages are counted for retention, UTC.
            idle: a run that finds nothing to do is told and remembered as well.

        Raises:
            BusyError: another batch is at work.
        """
        now = datetime.now(UTC)
        result = Result(f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}", now)
        self.log.run = result.run
        with only_one(self.folder, result.run):
            memory = recall(self.store, self.folder)
            self._steps(memory, result, today or now.date())
            self._end(memory, result, idle=idle)
        if result.did_something:
            give_back()
        return result

    def _steps(self, memory: Memory, result: Result, today: date) -> None:
        intake = Intake(
            self.store, self.plan, memory, self.folder, self.settings, self.log, self.stopped
        )
        with self._step("retain", result):
            self._retain(memory, today, result)
        with self._step("land", result):
            intake.run(result)
        memory.save(self.folder)
        left: set[tuple[str, date]] = set()
        days = {name: set(of) for name, of in memory.open.items() if of}
        result.days = sum(map(len, days.values()))
        if not days or self._stop(result):
            return
        with self._step("reduce", result):
            reduce(self.store, _by_time(), self.settings)
        if self._stop(result):
            return
        if self.plan.validate:
            with self._step("validate", result):
                self._validate(days, result)
        with self._step("connect", result), gathered(self.store, reductions()) as con:
            if self.plan.exceptions:
                with self._step("exceptions", result):
                    self._except(con, memory, result)
            with self._step("outputs", result):
                writer = Writer(con, self.settings, self.write, self.log)
                writer.run(self.plan.outputs, days, result)
                left = writer.unwritten
        if not result.counts["failures"]:
            memory.open.clear()
            for system, day in left:
                for name in [system] if system else days:
                    memory.open.setdefault(name, set()).add(day)

    def _stop(self, result: Result) -> bool:
        result.interrupted = result.interrupted or self.stopped()
        return result.interrupted

    @contextmanager
    def _step(self, name: str, result: Result) -> Iterator[None]:
        """A step whose failure is told and stops no other; its time is kept."""
        started = time.perf_counter()
        try:
            yield
        except (CpmonError, OSError, duckdb.Error) as error:
            result.note("failures", name, plain_error(error))
            self.log.error("step failed", step=name, reason=error)
        except Exception as error:  # noqa: BLE001 - the other steps are still worth doing
            result.note("failures", name, plain_line(f"{type(error).__name__}: {error}"))
            trace = "".join(traceback.format_exception(error))
            self.log.error("step failed", step=name, reason=error, trace=trace)
        finally:
            result.steps[name] = round(time.perf_counter() - started, 3)

    def _retain(self, memory: Memory, today: date, result: Result) -> None:
        """Remove what is older than need be, once a day."""
        said = self.settings.retention
        if not said or memory.pruned == today:
            return
        found = prune_plan(
            self.store, reductions(), retention(said, self.settings.place("retention")), today
        )
        result.removed = (len(found.files), found.bytes)
        prune(self.store, found)
        memory.pruned = today

    def _validate(self, days: Mapping[str, set[date]], result: Result) -> None:
        """Whether what landed in the days that changed is what it says it is."""
        from ..reduce.validation import Scope, Status, validate_spans

        scopes = []
        for system, of in sorted(days.items()):
            zone = find_zone(self.settings.zone(system))
            span = bounds(min(of), zone)[0], bounds(max(of), zone)[1]
            scopes.append(Scope(system, *(moment.replace(tzinfo=None) for moment in span)))
        for found in validate_spans(self.store, scopes, self.settings.validation):
            for outcome in found.of(Status.FAILED):
                severity, system = str(outcome.rule.severity), str(found.scope.system)
                result.validation[severity] += 1
                said = f"{severity} {outcome.rule.id}: {outcome.bad:,} of {outcome.checked:,}"
                result.note("broken", system, said)
                self.log.warning("rule broken", system=system, rule=outcome.rule.id)

    def _except(self, con: duckdb.DuckDBPyConnection, memory: Memory, result: Result) -> None:
        """Look for exceptions in the days that changed, of each system."""
        worst: list[tuple[int, Event]] = []
        rules = load_rules(self.settings.exceptions)
        with SpanSamples(con, self.store) as samples:
            for system, days in sorted(memory.open.items()):
                if not days:
                    continue
                zone = find_zone(self.settings.zone(system))
                since, until = bounds(min(days), zone)[0], bounds(max(days), zone)[1]
                scope = scope_of(con, None, system, since, until)
                found = exceptions_of(con, rules, scope, self.settings, samples=samples)
                worst += self._count(found.table, system, result)
        worst.sort(key=lambda one: -one[0])
        result.worst = [event for _, event in worst[:WORST]]

    def _count(self, table: pa.Table, system: str, result: Result) -> Iterator[tuple[int, Event]]:
        """Count the exceptions of a system; the worst of them, with the rank of the severity."""
        for counted in pc.value_counts(table.column("severity")).to_pylist():
            result.exceptions[counted["values"]] += counted["counts"]
        for row in table.slice(0, WORST).to_pylist():
            rank = Severity(row["severity"]).rank
            said = f"{row['severity']} {row['rule']} {row['object'] or ''}".rstrip()
            yield rank, Event(system, f"{said} {row['first_interval']:%m-%d %H:%M}")

    def _end(self, memory: Memory, result: Result, *, idle: bool) -> None:
        """Tell what happened, where it is to be told."""
        quiet = not idle and not result.did_something
        now = datetime.now(UTC)
        for name, known in memory.systems.items():
            if known.last is not None:
                part = result.system(name)
                part.last = known.last / 1e6
                part.lag = max(0.0, now.timestamp() - part.last)
        if not result.interrupted and not quiet:
            wrong = call(self.plan.hook_end, result.as_dict(), self.plan.hook_seconds, self.log)
            if wrong:
                result.note("trouble", "hook_end", wrong)
                self.log.error("hook", reason=wrong)
        result.ended = datetime.now(UTC)
        if result.status in (Ended.DONE, Ended.WARNINGS):
            memory.last_success = result.ended.timestamp()
        self._publish(memory, result)
        memory.save(self.folder)
        if quiet:
            return
        remember(self.folder, result, self.plan.history)
        self.log.info(
            "ended",
            status=int(result.status),
            landed=result.landed,
            seconds=round(result.seconds, 1),
        )

    def _publish(self, memory: Memory, result: Result) -> None:
        """Summary, its twin, and the metrics."""
        day = result.started.date()
        texts: Sequence[tuple[Path | None, Callable[[], str]]] = (
            (self.plan.metrics, lambda: metrics(memory, result)),
            (self.plan.summary, lambda: summary(result)),
            (self.plan.summary_json, lambda: json.dumps(result.as_dict(), indent=1) + "\n"),
        )
        for path, made in texts:
            if path is None:
                continue
            try:
                self.write(file_for(path, day), made().encode())
            except (CpmonError, OSError) as error:
                result.note("trouble", str(path), plain_error(error))
                self.log.error("not written", path=path, reason=error)
