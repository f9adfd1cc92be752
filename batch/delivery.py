"""Delivers alerts, in order, to a webhook or a command, each until it was accepted.

The file of alerts is the queue. Beside it stands how far it has been delivered, noted as each
alert is accepted: after a kill the next process goes on there. Whatever is delivered anew because
the kill came between the two has the id that it had before.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..config.settings import BatchSettings
from ..core.atomic import replacing
from ..core.errors import CpmonError
from .alerts import refused
from .hooks import run_command

TIMEOUT_S = 10.0
"""Seconds that a webhook has for an answer."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Seconds before the next try; they double from one failure to the next."""
Send = Callable[[dict[str, Any]], str]
"""Delivers an alert; returns why it was not accepted, else an empty text."""


class Delivery:
    """The alerts of a file on their way to one receiver."""

    def __init__(self, file: Path, name: str, send: Send, report: Callable[[str], None]) -> None:
        """Begins behind what a file has now, if this receiver is new.

        Args:
            file: of alerts, as JSON lines.
            name: of the receiver: a file `FILE.name` has the position behind what it accepted.
            report: called with each failure that is another one than the last.

        Raises:
            StoreError: the position cannot be written.
        """
        self._file, self._send, self._report = file, send, report
        self._noted = file.with_name(f"{file.name}.{name}")
        self._is_over, self._has_more = threading.Event(), threading.Event()
        try:
            if not self._noted.exists():
                self._note(file.stat().st_size)
        except OSError as error:
            raise refused(self._noted, error) from None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Delivers in a thread; at the end what is left is tried once more."""
        thread = threading.Thread(target=self._run)
        self.wake()
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self.wake()
            thread.join()

    def wake(self) -> None:
        """Look at the file: there may be more."""
        self._has_more.set()

    def _run(self) -> None:
        wait_s, failure, is_last = FIRST_WAIT_S, "", False
        while not is_last:
            if not failure:
                self._has_more.wait()
                wait_s = FIRST_WAIT_S
            elif not self._is_over.wait(wait_s):
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
            self._has_more.clear()
            is_last, before = self._is_over.is_set(), failure
            try:
                failure = self._deliver()
            except OSError as error:
                failure = str(error)
            if failure and (failure != before or is_last):
                effect = "at the next start" if is_last else "again"
                self._report(f"an alert was not delivered, and is tried {effect}: {failure}")

    def _deliver(self) -> str:
        """Deliver what has not been; returns why that ended early, else an empty text."""
        position = int(self._noted.read_text(encoding="ascii"))
        with self._file.open("rb") as lines:
            lines.seek(position if position <= self._file.stat().st_size else 0)
            while (line := lines.readline()).endswith(b"\n"):
                with suppress(ValueError):  # a line that a kill has cut is no alert
                    event = {"id": blake2b(line, digest_size=8).hexdigest(), **json.loads(line)}
                    if failure := self._send(event):
                        return failure
                self._note(lines.tell())
        return ""

    def _note(self, position: int) -> None:
        with replacing(self._noted) as part:
            part.write_text(str(position), encoding="ascii")


def by_command(settings: BatchSettings) -> Send:
    """Delivers to the command `hook_alert` of the settings, which gets the alert as JSON."""

    def send(event: dict[str, Any]) -> str:
        return run_command(settings.hook_alert, event, settings.hook_limit.seconds)

    return send


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What an address answers from elsewhere is not asked for: alerts go where they were sent."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nowhere."""


def by_webhook(url: str) -> Send:
    """Delivers by POST to an address of http or https; any answer but 2xx is a failure.

    Raises:
        CpmonError: it is no such address.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise CpmonError(
            "that is no address of a webhook",
            code="webhook-address-invalid",
            expected="http://HOST/... or https://HOST/...",
            found=f"{address.scheme or 'no scheme'}, {address.hostname or 'no host'}",
            effect="nothing was done",
            remedy="give the address that the receiver names, with --webhook https://HOST/PATH",
        )
    opener = urllib.request.build_opener(_NoRedirects)

    def send(event: dict[str, Any]) -> str:
        headers = {"Content-Type": "application/json", "Idempotency-Key": event["id"]}
        request = urllib.request.Request(url, json.dumps(event).encode(), headers, method="POST")
        try:
            with opener.open(request, timeout=TIMEOUT_S):
                return ""
        except urllib.error.HTTPError as error:
            with error:
                return f"{address.hostname} answered {error.code}"
        except (OSError, HTTPException, ValueError) as error:
            return f"{address.hostname}: {getattr(error, 'reason', error)}"

    return send
