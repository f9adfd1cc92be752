"""A store whose users were left out by MONITOR SAMPLE DISABLE, days before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cpmon.ingest import ingest
from cpmon.store import Store
from tests.batch.fleet import OFFSET
from tests.dumps import dump, fields, frame, interval_end, samples

TICKS = 4096 * 1_000_000


def command(at: float, given: str) -> bytes:
    """A MONITOR SAMPLE command. `at`: seconds after the epoch of test dumps."""
    data = given.encode("cp037")
    record = bytearray(fields("mtrscm", at, calbyct=len(data)) + data)
    record[:2] = len(record).to_bytes(2, "big")
    return bytes(record)


def _day(number: int, users: Sequence[str], told: Sequence[bytes] = ()) -> bytes:
    """The dump of a day: its configuration, samples of these users by the hour; at 13:00 more."""
    begin = OFFSET + number * 86_400
    sets = [samples(frame(fields("mtrsys", begin, systmid="ALPHA")))]
    for hour in range(1, 25):
        at = begin + 3600 * hour
        sampled = [
            fields("useact", at - 0.001, vmduser=user, vmdttime=int((at + 1e6) * TICKS) // 9)
            for user in users
        ]
        sets.append(samples(frame(*sampled, *(told if hour == 13 else ()), interval_end(at))))
    return dump(*sets)


def two_left_out(folder: Path) -> Store:
    """Six days of ALPHA. Of two who are left out on the second, BERT logs off on the fourth."""
    store, noon = Store(folder / "store", create=True), OFFSET + 12.9 * 3600
    given = command(noon + 86_400, "MONITOR SAMPLE DISABLE USER ANNA BERT")
    logoff = fields("uselof", noon + 3 * 86_400, vmduser="BERT")
    events = {1: [given], 3: [logoff]}
    for number in range(6):
        users = ["CARL"] if number > 1 else ["ANNA", "BERT", "CARL"]
        file = folder / f"{number}.mon"
        file.write_bytes(_day(number, users, events.get(number, ())))
        ingest(file, store, system="ALPHA")
    return store
