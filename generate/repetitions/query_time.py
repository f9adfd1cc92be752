"""CP QUERY TIME responses, as the console log of a run shows them."""

from __future__ import annotations

from collections.abc import Iterator

from .session import Moment, Session

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def query_time(session: Session) -> str:
    """The text of the log: a response before and one after each sample.

    A response says the time of day, and since logon the time connected (hh:mm:ss), the virtual
    and the total processor time (mmm:ss.hs).
    """
    return "\n".join(_lines(session)) + "\n"


def _lines(session: Session) -> Iterator[str]:
    for moment in session.moments():
        yield moment.comment
        yield "QUERY TIME"
        # Not %A, which the locale of the process changes.
        day = _DAYS[moment.when.weekday()]
        yield f"TIME IS {moment.when:%H:%M:%S} {moment.when.tzname()} {day} {moment.when:%m/%d/%y}"
        yield _connect(moment)


def _connect(moment: Moment) -> str:
    minutes, seconds = divmod(moment.connect_s, 60)
    hours, minutes = divmod(minutes, 60)
    virtual, total = _cpu(moment.virtual_cs), _cpu(moment.total_cs)
    return f"CONNECT= {hours:02}:{minutes:02}:{seconds:02} VIRTCPU= {virtual} TOTCPU= {total}"


def _cpu(hundredths: int) -> str:
    seconds, hundredths = divmod(hundredths, 100)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes:03}:{seconds:02}.{hundredths:02}"
