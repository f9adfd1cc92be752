"""Files of the inboxes into the store: each by itself, so that a bad one stops no other."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path

from ..ingest import Landed, ingest
from ..reduce.settings import Settings
from ..reduce.shifts import find_zone
from ..schemas.errors import CpmonError, DumpError
from ..store.store import Store
from .hooks import call
from .log import Log
from .looking import Candidate, by_age, candidates, look_of, ripeness
from .memory import Memory
from .plain import plain_error, plain_line, plain_path
from .plan import Plan
from .quarantine import quarantine
from .result import Result
from .spans import spanned

CHECKPOINT = 20.0
"""Seconds after which what has been done is written down, in the middle of a long run."""


class Grown(CpmonError):
    """A file has changed while it was read."""


class Intake:
    """Landing of what is new.

    Attributes:
        stopped: asked between files; true ends the work.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        memory: Memory,
        folder: Path,
        settings: Settings,
        log: Log,
        stopped: Callable[[], bool],
    ) -> None:
        self.store, self.plan, self.memory, self.folder = store, plan, memory, folder
        self.settings, self.log, self.stopped = settings, log, stopped

    def run(self, result: Result) -> None:
        """Land all that is new and complete."""
        saved = time.monotonic()
        for found in self.new(result):
            if self.stopped():
                result.interrupted = True
                break
            self._take(found, result)
            if time.monotonic() - saved > CHECKPOINT:
                self.memory.save(self.folder)
                saved = time.monotonic()

    def new(self, result: Result) -> list[Candidate]:
        """The files that are new and complete, oldest first; those that are not are told."""
        there, unreadable = self._listed()
        for path, reason in unreadable.items():
            result.note("trouble", plain_path(path), f"cannot be read: {reason}")
            self.log.error("unreadable", path=path, reason=reason)
        self.memory.forget(there, unreadable)
        now, ready = time.time(), {}
        for path, found in there.items():
            if self.memory.knows(found):
                continue
            before = self.memory.looks.get(str(path))
            ripe = ripeness(found, before, now)
            self.memory.looks[str(path)] = look_of(found, before, now)
            if ripe.is_complete:
                ready[path] = found
            else:
                self._defer(found, str(ripe), result)
        return by_age(ready)

    def _listed(self) -> tuple[dict[Path, Candidate], dict[Path, str]]:
        skipped = tuple(filter(None, (self.plan.quarantine, self.store.root.absolute())))
        there: dict[Path, Candidate] = {}
        unreadable: dict[Path, str] = {}
        for inbox in self.plan.inboxes:
            for found in candidates(inbox, skipped, unreadable):
                there.setdefault(found.path, found)
        return there, unreadable

    def _take(self, found: Candidate, result: Result) -> None:
        """Land a file, or say why not."""
        if not found.unchanged:
            self._defer(found, "has changed since the last look", result)
            return
        try:
            with found.path.open("rb"):
                pass
            landed = self._landed(found)
        except Grown:
            self._defer(found, "has changed while it was read", result)
        except DumpError as error:
            self._reject(found, error, result)
        except CpmonError as error:
            self._retry_later(found, str(error), result)
        except OSError as error:
            self._retry_later(found, error.strerror or str(error), result)
        except Exception as error:  # noqa: BLE001 - a failure of ours must not stop other files
            self._fail(found, error, result)
        else:
            self._tell(found, landed, result)

    def _landed(self, found: Candidate) -> Landed:
        def check(_source: object) -> None:
            if not found.unchanged:
                raise Grown("the file has changed while it was read")

        system = found.inbox.system or None
        release = self.settings.release(system)
        return ingest(found.path, self.store, system=system, release=release, progress=check)

    def _tell(self, found: Candidate, landed: Landed, result: Result) -> None:
        """Write down what has landed, and tell the hook."""
        span = spanned(self.store, landed.dump, find_zone(self.settings.zone(landed.system)))
        self.memory.open.setdefault(landed.system, set()).update(span.days)
        system = self.memory.system(landed.system)
        system.last = max(filter(None, (system.last, span.last_us)), default=None)
        if landed.already:
            result.known += 1
            self.memory.settle(found, "known", landed.dump)
            self.log.info("known", path=found.path, dump=landed.dump)
            return
        about = landed.about
        records = sum(about["rows"].values())
        system.dumps += 1
        system.records += records
        part = result.system(landed.system)
        part.dumps, part.intervals = part.dumps + 1, part.intervals + about["intervals"]
        part.records, part.bytes = part.records + records, part.bytes + about["bytes"]["size"]
        result.landed += 1
        for code, count in landed.findings.counts.items():
            result.found(code.name, code.severity.value, count)
            severity = code.severity.value
            self.memory.findings[severity] = self.memory.findings.get(severity, 0) + count
        self.memory.settle(found, "landed", landed.dump)
        facts = {
            "path": str(found.path),
            "dump": landed.dump,
            "system": landed.system,
            "intervals": about["intervals"],
            "records": records,
        }
        self.log.info("landed", **facts)
        facts |= {"event": "dump", "run": result.run, "findings": about["findings"]}
        wrong = call(self.plan.hook_dump, facts, self.plan.hook_seconds, self.log)
        if wrong:
            result.note("trouble", "hook_dump", wrong)
            self.log.error("hook", reason=wrong)

    def _defer(self, found: Candidate, reason: str, result: Result) -> None:
        result.note("deferred", plain_path(found.path), reason)
        self.log.info("deferred", path=found.path, reason=reason)

    def _reject(self, found: Candidate, error: DumpError, result: Result) -> None:
        """A file that is no dump goes into quarantine, if there is one."""
        reason = plain_line(error.problem)
        self.log.warning("rejected", path=found.path, reason=error)
        if self.plan.quarantine is None:
            self.memory.settle(found, "rejected", reason)
            result.note("rejected", plain_path(found.path), reason)
            return
        try:
            target = quarantine(found.path, self.plan.quarantine, str(error))
        except CpmonError as failed:
            result.note("rejected", plain_path(found.path), reason)
            result.note("trouble", plain_path(found.path), plain_error(failed))
            self.log.error("quarantine", path=found.path, reason=failed)
        else:
            self.memory.settle(found, "rejected", reason)
            result.note("quarantined", plain_path(found.path), reason)
            self.log.info("quarantined", path=found.path, now=target)

    def _retry_later(self, found: Candidate, reason: str, result: Result) -> None:
        """Something around the file is wrong; the next run tries again."""
        result.note("trouble", plain_path(found.path), plain_line(reason))
        self.log.error("not landed", path=found.path, reason=reason)

    def _fail(self, found: Candidate, error: Exception, result: Result) -> None:
        """Our own failure: the file is left alone until it changes, or cpmon does."""
        reason = f"{type(error).__name__}: {error}"
        self.memory.settle(found, "failed", plain_line(reason))
        result.note("failures", plain_path(found.path), plain_line(reason))
        trace = "".join(traceback.format_exception(error))
        self.log.error("failed", path=found.path, reason=reason, trace=trace)
