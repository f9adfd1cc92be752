"""The one exception a user can meet: what is wrong, where, and what to do."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from .text import printable


@dataclass(eq=False, repr=False)
class CpmonError(Exception):
    """Something in the user's input or surroundings is wrong; a bug of ours is never one of these.

    Attributes:
        problem: one sentence saying what is wrong.
        code: the kind of fault, for programs: kebab-case, stable while texts change. An error with
            a remedy has one; docs/errors.md lists them.
        place: file, frame, offset, table or key where it was met.
        expected, found: what should have stood there, and what does.
        effect: what was and was not done because of it.
        remedy: what the reader can do now.
    """

    problem: str
    _: KW_ONLY
    code: str | None = None
    place: str | None = None
    expected: str | None = None
    found: str | None = None
    effect: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        """The problem on the first line, then the parts that are known, one a line.

        Parts may hold names from dumps: no control character of theirs is shown as it is, and
        what goes over several lines is indented, so that it cannot look like another part.
        """
        lines = [
            f"  {name:<9} " + printable(text).replace("\n", "\n" + " " * 12)
            for name in ("at", "expected", "found", "effect", "remedy")
            if (text := self.place if name == "at" else getattr(self, name))
        ]
        return "\n".join([printable(self.problem), *lines])


class LayoutError(CpmonError):
    """A layout file says something that no record can satisfy."""


class DumpError(CpmonError):
    """An input cannot be read as monitor data at all."""


class StoreError(CpmonError):
    """A store is missing, damaged, or of another kind."""


class UnreadableError(StoreError):
    """A file of a store is damaged or missing; what needs no other can go on."""


class NothingToReportError(CpmonError):
    """A report or page has nothing in its span: no measured interval, or no line."""


class BusyError(CpmonError):
    """Another process holds what this one needs; trying again later is the remedy."""


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: where it comes in between, a lock fails to be released."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
