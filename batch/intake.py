"""Intake: lands new files of the inboxes one by one; a bad file does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..config import Settings
from ..config.moments import find_zone
from ..core.errors import CpmonError, DumpError
from ..core.grace_period import INSIDE
from ..ingest import Landed, ingest
from ..store.format.store import Store
from .hooks import run_hook
from .inbox import GROWING, Candidate, candidates, incomplete, observe, quarantine
from .log import ascii_error, ascii_line, ascii_path, error_code, log
from .plan import BatchPlan
from .result import BatchResult
from .state import State


class _FileChangedError(CpmonError):
    """A file changed while it was being read."""


@dataclass(frozen=True)
class Intake:
    """Lands new files.

    Attributes:
        folder: folder of the state. should_stop: called between files; true stops the intake.
    """

    store: Store
    plan: BatchPlan
    state: State
    folder: Path
    settings: Settings
    should_stop: Callable[[], bool]

    def run(self, result: BatchResult) -> None:
        """Land all new complete files."""
        saved = time.monotonic()
        for file in self._new_files(result):
            if self.should_stop():
                result.interrupted = True
                break
            self._process(file, result)
            if time.monotonic() - saved > 20.0:  # seconds; an intake may be long
                self.state.save(self.folder)
                saved = time.monotonic()

    def _new_files(self, result: BatchResult) -> list[Candidate]:
        """The new complete files, oldest first; incomplete ones are deferred."""
        files: dict[Path, Candidate] = {}
        unreadable: dict[Path, str] = {}
        skipped = tuple(filter(None, (self.plan.batch.quarantine, self.store.root.absolute())))
        for inbox in self.plan.inboxes:
            for file in candidates(inbox, skipped, unreadable):
                files.setdefault(file.path, file)
        for path, reason in unreadable.items():
            result.note("trouble", ascii_path(path), f"cannot be read: {reason}")
            log.error("unreadable", path=path, reason=reason)
        self.state.forget_missing(files, unreadable)
        now, complete = time.time(), list[Candidate]()
        for path, file in files.items():
            if self.state.is_settled(file):
                continue
            previous = self.state.observations.get(str(path))
            reason = incomplete(file, previous, now)
            self.state.observations[str(path)] = observe(file, previous, now)
            if reason:
                self._defer(file, reason, result)
            else:
                complete.append(file)
        # Oldest first, so that intervals arrive in order.
        return sorted(complete, key=lambda file: (file.mtime_ns, file.path))

    def _process(self, file: Candidate, result: BatchResult) -> None:
        """Land a file, or record why it did not land."""
        if not file.is_unchanged:
            self._defer(file, GROWING, result)
            return
        try:
            with file.path.open("rb"):
                pass
            landed = self._land(file)
        except _FileChangedError:
            self._defer(file, "has changed while it was read", result)
        except DumpError as error:
            self._reject(file, error, result)
        except (CpmonError, OSError) as error:  # not the fault of the file: the next batch retries
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            result.note("trouble", ascii_path(file.path), ascii_line(reason), error_code(error))
            cause = error if isinstance(error, CpmonError) else reason
            log.error("not landed", path=file.path, reason=cause)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not stop other files
            # The file is skipped until it or the version of cpmon changes.
            reason = f"{type(error).__name__}: {error}"
            self.state.settle(file, "failed", ascii_line(reason))
            result.note("failures", ascii_path(file.path), ascii_line(reason))
            log.exception("failed", path=file.path, reason=reason)
        else:
            self._record(file, landed, result)

    def _land(self, file: Candidate) -> Landed:
        def check(_source: object) -> None:
            if not file.is_unchanged:
                raise _FileChangedError("the file has changed while it was read")

        system = file.inbox.system
        release = self.settings.release(system)
        return ingest(
            file.path, self.store, system=system, fallback_release=release, progress=check
        )

    def _record(self, file: Candidate, landed: Landed, result: BatchResult) -> None:
        """Add a landed dump to state and result, and run the hook."""
        zone = find_zone(self.settings.zone(landed.system))
        days, last_us = dump_days(self.store, landed.dump, zone)
        self.state.open.setdefault(landed.system, set()).update(days)
        totals = self.state.system(landed.system)
        totals.last = max(filter(None, (totals.last, last_us)), default=None)
        if landed.already:
            result.known += 1
            self.state.settle(file, "known", landed.dump)
            log.info("known", path=file.path, dump=landed.dump)
            return
        about = landed.about
        self.state.count(about)
        result.count(about)
        self.state.settle(file, "landed", landed.dump)
        event = {
            "path": str(file.path),
            "dump": landed.dump,
            "system": landed.system,
            "intervals": about["intervals"],
            "records": sum(about["rows"].values()),
        }
        log.info("landed", **event)
        event |= {"event": "dump", "run": result.run, "findings": about["findings"]}
        run_hook("hook_dump", self.plan.batch, event, result)

    def _defer(self, file: Candidate, reason: str, result: BatchResult) -> None:
        result.note("deferred", ascii_path(file.path), reason)
        log.info("deferred", path=file.path, reason=reason)

    def _reject(self, file: Candidate, error: DumpError, result: BatchResult) -> None:
        """Quarantine a file that is not a dump; without a quarantine folder it stays."""
        path, reason, kind = ascii_path(file.path), ascii_line(error.problem), "rejected"
        log.warning("rejected", path=file.path, reason=error)
        try:
            if self.plan.batch.quarantine is not None:
                target = quarantine(file.path, self.plan.batch.quarantine, str(error))
                kind = "quarantined"
                log.info("quarantined", path=file.path, now=target)
            self.state.settle(file, "rejected", reason)
        except CpmonError as failure:
            result.note("trouble", path, ascii_error(failure), failure.code)
            log.error("quarantine", path=file.path, reason=failure)
        result.note(kind, path, reason, error.code)


def dump_days(store: Store, dump: str, zone: ZoneInfo) -> tuple[set[date], int | None]:
    """The days of a landed dump's intervals, and the end of the last one, microseconds since 1970.

    The end is None without intervals.
    """
    landed = store.manifest.find(dump)
    if landed is None or "interval" not in landed.tables:
        return set(), None
    file = pa.BufferReader(store.files.read(f"{landed.folder}/interval.parquet"))
    own = [("dump", "=", dump)] if landed.is_merged else None
    ends = pq.read_table(file, columns=["interval_end"], filters=own).column(0).drop_null()
    # An interval that ends later has a damaged time stamp.
    limit = (datetime.now(UTC) + timedelta(days=1)).replace(tzinfo=None)
    ends = ends.filter(pc.less(ends, pa.scalar(limit, ends.type)))
    if not len(ends):
        return set(), None
    utc = pc.subtract(ends, pa.scalar(INSIDE)).cast(pa.timestamp("us", "UTC"))
    local = pc.local_timestamp(utc.cast(pa.timestamp("us", zone.key)))
    days = pc.unique(local.cast(pa.date32(), safe=False)).to_pylist()
    last: datetime = pc.max(ends).as_py()
    return set(days), int(last.replace(tzinfo=UTC).timestamp() * 1_000_000)
