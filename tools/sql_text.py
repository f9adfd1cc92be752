"""SQL files as the lint sees them: tokens with their places, statements and views.

DuckDB's own parser drops comments, and comments are what the lint is about. So the text is cut
into tokens here; whether it is SQL at all, DuckDB decides (see `check_sql`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a token is."""

    COMMENT = "comment"
    STRING = "string"
    QUOTED = "quoted"
    NUMBER = "number"
    PARAMETER = "parameter"
    WORD = "word"
    SYMBOL = "symbol"


TOKEN = re.compile(
    r"""
      (?P<comment>   --[^\n]* | /\*.*?\*/ )
    | (?P<string>    '(?:[^']|'')*' )
    | (?P<quoted>    "(?:[^"]|"")*" )
    | (?P<number>    (?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)? )
    | (?P<parameter> \$\w+ )
    | (?P<word>      [^\W\d]\w* )
    | (?P<symbol>    ::|//|<=|>=|<>|!=|\|\||[^\s\w] )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `line` counts from 1; `depth` is the number of brackets open around it.

    A closing bracket has the depth of its opening one. `leads` says that nothing stands before
    the token on its line.
    """

    kind: Kind
    text: str
    line: int
    depth: int
    leads: bool

    @property
    def end_line(self) -> int:
        """The line on which the token ends; differs from `line` for block comments and strings."""
        return self.line + self.text.count("\n")

    def word(self) -> str:
        """The token in lower case if it is a bare word, else an empty string."""
        return self.text.lower() if self.kind is Kind.WORD else ""


@dataclass(frozen=True, slots=True)
class Statement:
    """The tokens of one statement, comments before it included, the semicolon left out."""

    tokens: tuple[Token, ...]

    @property
    def code(self) -> tuple[Token, ...]:
        """The tokens that are not comments."""
        return tuple(token for token in self.tokens if token.kind is not Kind.COMMENT)

    @property
    def comment_above(self) -> bool:
        """Whether a comment ends on the line right above the first word."""
        first = self.code[0]
        before = self.tokens[: self.tokens.index(first)]
        return bool(before) and before[-1].end_line == first.line - 1


@dataclass(frozen=True, slots=True)
class View:
    """A `CREATE OR REPLACE VIEW name AS body` statement."""

    name: str
    line: int
    body: tuple[Token, ...]

    @property
    def public(self) -> bool:
        """Whether readers outside of the file may rely on the view: its name has no leading _."""
        return not self.name.startswith("_")


def tokens(text: str) -> Iterator[Token]:
    """Tokens of `text` in order; white space is dropped."""
    depth, line, seen = 0, 1, 0
    for match in TOKEN.finditer(text):
        gap = text[seen : match.start()]
        line += gap.count("\n")
        closes = match.group() in (")", "]")
        depth = max(0, depth - closes)
        kind = Kind(match.lastgroup)
        yield Token(kind, match.group(), line, depth, leads=not seen or "\n" in gap)
        depth += match.group() in ("(", "[")
        line += match.group().count("\n")
        seen = match.end()


def statements(text: str) -> list[Statement]:
    """Statements of `text`; comments after the last semicolon belong to none."""
    found: list[Statement] = []
    current: list[Token] = []
    for token in tokens(text):
        if token.text == ";" and token.depth == 0:
            found.append(Statement(tuple(current)))
            current = []
        else:
            current.append(token)
    found.append(Statement(tuple(current)))
    return [statement for statement in found if statement.code]


def view(statement: Statement) -> View | None:
    """The view that `statement` creates; None if it is no `CREATE OR REPLACE VIEW name AS`."""
    code = statement.code
    words = [token.word() for token in code[:6]]
    if words[:4] != ["create", "or", "replace", "view"] or words[5:] != ["as"]:
        return None
    return View(code[4].text, code[4].line, code[6:])
