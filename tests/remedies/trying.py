"""What it takes to try a remedy: the message is met, what it says is done, and that works."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import CpmonError
from tests.cli.answer import Answer, Cpmon
from tests.remedies.sites import ROOT, Remedy, sites

Found = TypeVar("Found")


def tries(file: str, problem: str, text: str | None = None) -> pytest.MarkDecorator:
    """A test, or one of its cases, tries a remedy; `text` where its place can say several."""
    return pytest.mark.tries(file, problem, text)


def meant(mark: pytest.Mark) -> Remedy:
    """The remedy that a mark names.

    Raises:
        LookupError: the product has none like that, or several.
    """
    file, problem, text = mark.args
    found = {
        remedy
        for site in sites()
        for remedy in site.remedies
        if (remedy.file, remedy.problem) == (file, problem) and text in (None, remedy.text)
    }
    if len(found) != 1:
        raise LookupError(f"{len(found)} remedies are like {mark.args}")
    return found.pop()


@dataclass
class Attempt:
    """One test's commands.

    Attributes:
        open: remedies that were told, and nothing has worked since.
        done: those of them that were followed by a command that works.
    """

    cpmon: Cpmon
    open: set[Remedy] = field(default_factory=set)
    done: set[Remedy] = field(default_factory=set)

    def fails(self, *words: object, stdin: bytes = b"") -> str:
        """What a command says that does not work."""
        answer = self.cpmon(*words, stdin=stdin)
        assert answer.status not in (Status.DONE, Status.WARNINGS, Status.FAILED), answer.err
        assert "Traceback" not in answer.err
        assert "  remedy    " in answer.err, answer.err
        return answer.err

    def works(self, *words: object, stdin: bytes = b"", status: Status = Status.DONE) -> Answer:
        """The answer of a command that does."""
        answer = self.cpmon(*words, stdin=stdin)
        assert answer.status is status, answer.err
        self.worked()
        return answer

    def as_said(self, said: str, status: Status = Status.DONE, **filled: object) -> Answer:
        """What the command of a remedy answers, typed as it stands there.

        Args:
            said: the message. filled: what stands for the words of its command in capitals.
        """
        remedy = said.partition("  remedy    ")[2]
        found = re.search(r"`?cpmon (([a-z]+ )?[^`;?\n]+)", remedy)
        assert found is not None, f"no command in {remedy!r}"
        words = [filled.get(word, word) for word in shlex.split(found[1])]
        return self.works(*words, status=status)

    def raises(self, call: Callable[[], object]) -> CpmonError:
        """The error of a call, where no command leads to it."""
        with pytest.raises(CpmonError) as caught:
            call()
        return caught.value

    def returns(self, call: Callable[[], Found]) -> Found:
        """What a call returns that works."""
        found = call()
        self.worked()
        return found

    def worked(self) -> None:
        """What was told since the last time has been done, and was right."""
        self.done |= self.open
        self.open.clear()

    def tell(self, error: CpmonError) -> None:
        """A message was made; the places of the product that it came from are on the stack."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            file = Path(frame.f_code.co_filename).resolve()
            if file.is_relative_to(ROOT):
                self._tell(str(file.relative_to(ROOT)), frame.f_lineno, error.remedy or "")
            frame = frame.f_back

    def _tell(self, file: str, line: int, said: str) -> None:
        for site in sites():
            if site.file == file and line in site.lines:
                self.open |= {one for one in site.remedies if _says(one.text, said)}


def _says(written: str, said: str) -> bool:
    """Whether a text is one that the source can make."""
    parts = map(re.escape, written.split("{}"))
    return bool(said) and re.fullmatch(".*".join(parts), said, re.S) is not None
