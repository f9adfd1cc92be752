"""Lint of the project's SQL: `python -m tools.check_sql [FILE...]`, run by `make check`.

Without arguments: every reduce/reductions/sql/*.sql (reductions) and queries/*.sql (questions).

Both kinds: DuckDB can parse it; keywords upper case; lines of at most 80 columns; every divisor
is `nullif(...)`, a number other than 0, or has `-- non-zero: why` on its line; no `SELECT *` at
the top level.

A reduction consists of `CREATE OR REPLACE VIEW name AS ...` only, each view after those of its
file that it reads, each with a comment above it. It keeps to the SQL that other engines can run
too (`tools.portable_sql`). Every column has a comment or inherits that of a column it is selected
from, and a name in snake_case that no other column of the view has. The views that metrics make
keep to the same rules.

A question begins with a comment block: title, description, and a line
`-- param: name = default -- meaning` for each `$name` that it uses. Then follows one SELECT.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import duckdb

from cpmon.core.errors import CpmonError
from cpmon.reduce.reductions.reductions import reductions

from .portable_sql import stays_portable
from .sql_text import Kind, Statement, Token, View, statements, tokens, view

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 80
SNAKE_CASE = re.compile(r"_?[a-z][a-z0-9_]*")
PARAM = re.compile(
    r"--\s*param:\s*(?P<name>[a-z]\w*)\s*=\s*(?P<default>\S.*?)\s+--\s+(?P<meaning>\S.*)"
)

# (path, rule) -> reason. What stands here is let through; an entry no longer needed is reported.
EXCEPTIONS: dict[tuple[str, str], str] = {}

# Words that DuckDB reserves but that are written like functions or types.
WRITTEN_LOWER = frozenset({"array", "columns", "lambda", "map", "struct", "tuple", "unpack"})
# Words that DuckDB does not reserve, but that are never a sensible column name.
STRUCTURE_WORDS = frozenset(
    {"between", "by", "exists", "following", "nulls", "over", "partition", "preceding", "replace"}
    | {"unbounded", "view", "within"}
    | {"bigint", "boolean", "double", "hugeint", "integer", "smallint", "ubigint", "varchar"}
)
INTEGERS = frozenset({"bigint", "integer", "smallint", "tinyint"})


@dataclass(frozen=True, slots=True, order=True)
class Complaint:
    """One broken rule and its place; `path` is relative to the repository."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


Found = Iterator[tuple[int, str, str]]  # line, rule, text


@cache
def keywords() -> frozenset[str]:
    """Words, in lower case, that are written in upper case."""
    with duckdb.connect() as con:
        reserved = con.execute(
            "SELECT keyword_name FROM duckdb_keywords()"
            " WHERE keyword_category IN ('reserved', 'type_function')"
        ).fetchall()
    return frozenset(word for (word,) in reserved) - WRITTEN_LOWER | STRUCTURE_WORDS


# -- rules for every file ------------------------------------------------------------------------


def lines_fit(text: str) -> Found:
    """Lines longer than 80 columns."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH:
            yield number, "line-length", f"{len(line)} columns; at most {WIDTH}"


def parses(text: str) -> Found:
    """What DuckDB's parser says against the text."""
    try:
        with duckdb.connect() as con:
            con.extract_statements(text)
    except duckdb.Error as error:
        lines = str(error).splitlines()
        place = next((int(m[1]) for m in map(re.compile(r"LINE (\d+):").match, lines) if m), 1)
        yield place, "parse", lines[0]


def keywords_are_upper_case(text: str) -> Found:
    """Keywords in lower or mixed case."""
    code = [token for token in tokens(text) if token.kind is not Kind.COMMENT]
    nothing = Token(Kind.SYMBOL, "", 0, 0, leads=False)
    for before, token, after in zip([nothing, *code], code, [*code[1:], nothing], strict=False):
        called = after.text == "(" and token.word() in {"left", "right", "replace"}
        qualified = "." in (before.text, after.text)
        if token.word() in keywords() and not token.text.isupper() and not called and not qualified:
            yield token.line, "keyword-case", f"write {token.text.upper()}, not {token.text}"


def divisors_are_guarded(text: str) -> Found:
    """Divisions whose divisor may be zero for all that the text says."""
    every = list(tokens(text))
    reasons = {t.line for t in every if t.text.startswith("-- non-zero:")}
    code = [token for token in every if token.kind is not Kind.COMMENT]
    for slash, divisor in pairwise(code):
        if slash.text not in ("/", "//"):
            continue
        number = divisor.kind is Kind.NUMBER and float(divisor.text.replace("_", "")) != 0
        if not (number or divisor.word() == "nullif" or {slash.line, divisor.line} & reasons):
            yield (
                slash.line,
                "divisor",
                f"guard {divisor.text}: nullif(..., 0), or say why on the line: -- non-zero: ...",
            )


def selects_name_columns(body: Sequence[Token]) -> Found:
    """`SELECT *` (also `t.*`, and FROM without SELECT) outside of all brackets of a query."""
    top = [token for token in body if token.depth == 0 and token.kind is not Kind.COMMENT]
    if top and top[0].word() == "from":
        yield top[0].line, "select-star", "FROM without SELECT hides the columns; name them"
    for before, token in pairwise(top):
        item = before.word() in {"select", "distinct", "all"} or before.text in {",", "."}
        if token.text == "*" and item:
            yield token.line, "select-star", "name the columns that the reader gets"


# -- reductions ----------------------------------------------------------------------------------


def views_are_documented(found: Sequence[tuple[Statement, View | None]]) -> Found:
    """Statements that are no views, views without a comment, stars in public views."""
    for statement, made in found:
        line = statement.code[0].line
        if made is None:
            yield line, "form", "a reduction holds CREATE OR REPLACE VIEW name AS statements only"
            continue
        if not SNAKE_CASE.fullmatch(made.name):
            yield made.line, "name", f"{made.name} is not snake_case"
        if not statement.comment_above:
            yield line, "view-comment", f"no comment right above {made.name}"
        if made.public:
            yield from selects_name_columns(made.body)


def views_come_after_what_they_read(found: Sequence[tuple[Statement, View | None]]) -> Found:
    """Views read before they are made, by a view of the same file."""
    made = [one for _, one in found if one is not None]
    for number, one in enumerate(made):
        later = {other.name for other in made[number:]}
        reads = [(a.word(), b) for a, b in pairwise(one.body) if b.word() in later]
        for before, token in reads:
            if before in {"from", "join"}:
                yield token.line, "order", f"{one.name} reads {token.text}, made only further down"


def views_with_metrics(folder: Path) -> Iterator[Complaint]:
    """Complaints about the shipped views as metrics make them, and about their columns."""
    place = folder.relative_to(ROOT).as_posix()
    try:
        views = reductions()
    except CpmonError as error:
        yield Complaint(f"{place}/{error.place}", 1, "column-comment", f"{error.found}: {error}")
        return
    for view_ in views:
        names = [column.name for column in view_.columns]
        for name in names:
            if not SNAKE_CASE.fullmatch(name) or names.count(name) > 1:
                text = f"column {name} twice, or not snake_case"
                yield Complaint(f"{place}/{view_.name}.sql", 1, "name", text)
        text = f"-- {view_.name}, with its metrics.\n{view_.sql}\n"
        for rule in (*EVERYWHERE, reduction):
            for one in rule(text):
                yield Complaint(f"{place}/{view_.name}.sql, with its metrics", *one)


def sums_may_overflow(text: str) -> Found:
    """Sums that are cast to an integer in a way that raises where they do not fit."""
    code = [token for token in tokens(text) if token.kind is not Kind.COMMENT]
    for place, (cast, _, total) in enumerate(zip(code, code[1:], code[2:], strict=False)):
        if cast.word() == "cast" and total.word() == "sum":
            end = next(
                (t for t in code[place + 2 :] if t.text == ")" and t.depth == cast.depth), cast
            )
            kind = code[code.index(end) - 1]
            if kind.word() in INTEGERS:
                yield (
                    cast.line,
                    "overflow",
                    "write TRY_CAST: one damaged value may not end a reduction",
                )


def reduction(text: str) -> Found:
    """All complaints about a file of reduce/reductions/sql/."""
    found = [(statement, view(statement)) for statement in statements(text)]
    if not found:
        yield 1, "form", "no statement in the file"
    yield from views_are_documented(found)
    yield from views_come_after_what_they_read(found)
    yield from stays_portable(text)
    yield from sums_may_overflow(text)


# -- questions -----------------------------------------------------------------------------------


def question(text: str) -> Found:
    """All complaints about a file of queries/: its header, its parameters, its one SELECT."""
    header = [token for token in _header(text) if token.text.strip("- ")]
    prose = [token for token in header if "param:" not in token.text]
    if not header or "param:" in header[0].text:
        yield 1, "header", "begin with a comment: the title on its first line"
    elif len(prose) == 1:
        yield header[0].line, "header", "a description must follow the title"
    declared: dict[str, int] = {}
    for token in header:
        if "param:" in token.text:
            match = PARAM.fullmatch(token.text.rstrip())
            if match is None:
                yield token.line, "param", "write: -- param: name = default -- meaning"
            else:
                declared[match["name"]] = token.line
    used = {token.text[1:]: token.line for token in tokens(text) if token.kind is Kind.PARAMETER}
    for name in sorted(used.keys() - declared.keys()):
        yield used[name], "param", f"${name} has no -- param: line"
    for name in sorted(declared.keys() - used.keys()):
        yield declared[name], "param", f"${name} is never used"
    found = statements(text)
    if len(found) != 1 or found[0].code[0].word() not in {"select", "with"}:
        yield 1, "form", "a question is one SELECT (or WITH ... SELECT)"
    for statement in found:
        yield from selects_name_columns(statement.code)


def _header(text: str) -> Iterator[Token]:
    """Comments of the first comment block: from line 1 on, without an empty line between."""
    expected = 1
    for token in tokens(text):
        if token.kind is not Kind.COMMENT or token.line != expected:
            return
        expected = token.end_line + 1
        yield token


# -- running -------------------------------------------------------------------------------------

EVERYWHERE: tuple[Callable[[str], Found], ...] = (
    lines_fit,
    parses,
    keywords_are_upper_case,
    divisors_are_guarded,
)


def check_text(text: str, path: str) -> list[Complaint]:
    """Complaints about one file, in order of lines.

    `path`, relative to the repository, decides the kind: queries/ holds questions, all else
    reductions.
    """
    kind = question if path.startswith("queries/") else reduction
    found = [one for rule in (*EVERYWHERE, kind) for one in rule(text)]
    return sorted({Complaint(path, *one) for one in found})


def check_files(paths: Sequence[Path]) -> list[Complaint]:
    """Complaints about `paths` after EXCEPTIONS, and exceptions that are no longer needed."""
    found: list[Complaint] = []
    for path in paths:
        name = path.resolve().relative_to(ROOT).as_posix()
        found += check_text(path.read_text(encoding="utf-8"), name)
        waived = {rule for where, rule in EXCEPTIONS if where == name}
        idle = waived - {one.rule for one in found if one.path == name}
        found = [one for one in found if (one.path, one.rule) not in EXCEPTIONS]
        found += [Complaint(name, 1, rule, "exception no longer needed") for rule in sorted(idle)]
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the complaints about the files named, or about all; 1 if there are any."""
    named = [Path(argument) for argument in arguments]
    paths = named or sorted(
        [*ROOT.glob("reduce/reductions/sql/**/*.sql"), *ROOT.glob("queries/**/*.sql")]
    )
    found = check_files(paths)
    if not named:
        found += views_with_metrics(ROOT / "reduce" / "reductions" / "sql")
    for complaint in found:
        print(complaint)
    print(f"SQL lint: {len(paths)} files, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
