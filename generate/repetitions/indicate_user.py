"""CP INDICATE USER responses, as the console log of a run shows them."""

from __future__ import annotations

from collections.abc import Iterator

from .session import Moment, Session


def indicate_user(session: Session, user: str) -> str:
    """The text of the log: a response before and one after each sample.

    Counts are since logon. I/Os and processor time stand with each virtual processor; the first
    has what does not divide.
    """
    return "\n".join(_lines(session, user)) + "\n"


def _lines(session: Session, user: str) -> Iterator[str]:
    run = session.run
    for moment in session.moments():
        yield moment.comment
        yield "INDICATE USER"
        yield f"USERID={user} MACH=ESA STOR={run.storage_mib}M VIRT=V XSTORE=NONE"
        yield "IPLSYS=DEV 0201 DEVNUM=00014"
        yield (
            f"PAGES: RES={run.resident_pages:08} WS={run.working_set_pages:08}"
            " LOCK=00000028 RESVD=00000000"
        )
        yield (
            f"NPREF=00000000 PREF=00000000"
            f" READS={moment.page_reads:08} WRITES={moment.page_writes:08}"
        )
        for processor in range(run.virtual_processors):
            yield from _processor(moment, processor, run.virtual_processors)


def _processor(moment: Moment, number: int, processors: int) -> Iterator[str]:
    connected = moment.connect_s // 60
    ios, virtual, total = (
        whole // processors + (whole % processors if number == 0 else 0)
        for whole in (moment.ios, moment.virtual_cs // 100, moment.total_cs // 100)
    )
    yield (
        f"CPU {number:02}: CTIME={connected // 60:02}:{connected % 60:02}"
        f" VTIME={virtual // 60:03}:{virtual % 60:02} TTIME={total // 60:03}:{total % 60:02}"
        f" IO={ios:06}"
    )
    yield "        RDR=000000 PRT=000000 PCH=000000"
