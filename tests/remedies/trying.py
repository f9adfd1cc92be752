"""What it takes to try a remedy: the message is met, what it says is done, and that works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import CpmonError
from tests.cli.answer import Answer, Cpmon

Found = TypeVar("Found")


def tries(code: str, remedy: str = "") -> pytest.MarkDecorator:
    """A test, or one of its cases, tries the remedy of a code; of several, one with this text."""
    return pytest.mark.tries(code, remedy)


@dataclass
class Attempt:
    """One test's commands.

    Attributes:
        open: errors with remedies that were made, and nothing has worked since.
        done: those of them that were followed by a command that works.
    """

    cpmon: Cpmon
    open: list[CpmonError] = field(default_factory=list)
    done: list[CpmonError] = field(default_factory=list)

    def has_tried(self, code: str, remedy: str) -> bool:
        """Whether an error of a code had this in its remedy, and something has worked since."""
        return any(e.code == code and remedy in (e.remedy or "") for e in self.done)

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
        self.done += self.open
        self.open.clear()
