"""The SQL that other engines run too: what reductions keep to, as `tools.check_sql` holds them.

Spark runs what sqlglot writes of it. What sqlglot passes on as it is, and what engines answer
differently, is refused here by name; `make test-long` compares every reduction on Spark itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from cpmon.spark.dialect import rewritten, written

from .sql_text import Kind, Token, tokens

Found = Iterator[tuple[int, str, str]]  # line, rule, text

RULE = "portable"
# What other engines lack or do differently, and what to write instead. The flag: only as a call.
NOT_PORTABLE: dict[str, tuple[bool, str]] = {
    "qualify": (False, "row_number() in a CTE and a WHERE on it"),
    "asof": (False, "lag() or a window max()"),
    "pivot": (False, "sum(...) FILTER (WHERE ...)"),
    "unpivot": (False, "UNION ALL"),
    "positional": (False, "a join on a key"),
    "columns": (True, "the columns by name"),
    "date_diff": (True, "date_diff('microsecond', ...), or a difference of tod_us"),
    "datediff": (True, "date_diff('microsecond', ...), or a difference of tod_us"),
    "epoch": (True, "the landed tod_us"),
    "epoch_ms": (True, "the landed tod_us"),
    "epoch_ns": (True, "the landed tod_us"),
    "epoch_us": (True, "the landed tod_us"),
    "time_bucket": (True, "tod_us - tod_us % width"),
    "quantile": (True, "median(x) or percentile_cont(p) WITHIN GROUP (ORDER BY x)"),
    "quantile_cont": (True, "median(x) or percentile_cont(p) WITHIN GROUP (ORDER BY x)"),
    "quantile_disc": (True, "percentile_disc(p) WITHIN GROUP (ORDER BY x)"),
    "hash": (True, "the columns themselves: each engine has its own"),
    "format": (True, "lpad(to_hex(x), 4, '0'), or a round() made a text"),
}
EPOCH = "date_diff('microsecond', TIMESTAMP '1970-01-01', x) / 1e6"


def stays_portable(text: str) -> Found:
    """Words of DuckDB's dialect that a second engine does not run, or runs differently."""
    found = [*_words(text), *_literals(text)]
    yield from found or _transpiled(text)


def _words(text: str) -> Found:
    code = [token for token in tokens(text) if token.kind is not Kind.COMMENT]
    end = Token(Kind.SYMBOL, "", 0, 0, leads=False)
    for token, after, argument in zip(code, [*code[1:], end], [*code[2:], end, end], strict=False):
        call_only, instead = NOT_PORTABLE.get(token.word(), (False, ""))
        exact = token.word() == "date_diff" and argument.text == "'microsecond'"
        if instead and (after.text == "(" or not call_only) and not exact:
            yield token.line, RULE, f"{token.text} is not portable; write {instead}"
        if token.word() in ("date_part", "extract") and "epoch" in argument.text.lower():
            yield token.line, RULE, f"the epoch is not portable; write {EPOCH}"


def _literals(text: str) -> Found:
    """Numbers that are decimals to DuckDB: arithmetic with them differs from engine to engine."""
    for token in tokens(text):
        if token.kind is Kind.NUMBER and "." in token.text and "e" not in token.text.lower():
            yield (
                token.line,
                RULE,
                f"{token.text} is a decimal; write {token.text}e0, or a fraction",
            )


def _transpiled(text: str) -> Found:
    """What sqlglot does not know, or cannot write for Spark, and casts that nobody needs."""
    try:
        for statement in sqlglot.parse(text, dialect="duckdb"):
            query = statement.expression if isinstance(statement, exp.Create) else None
            if query is None:
                continue
            yield from _casts(query)
            for shift in query.find_all(exp.BitwiseLeftShift, exp.BitwiseRightShift):
                yield _line(shift), RULE, "multiply or divide: not all shift 64 bits, or unsigned"
            ported = rewritten(query.copy(), lambda _, name: name)
            for call in ported.find_all(exp.Anonymous):
                yield _line(call), RULE, f"{call.name} is not known to be a function of Spark"
            written(ported)
    except sqlglot.errors.ParseError as error:
        yield error.errors[0].get("line") or 1, RULE, "sqlglot cannot read this"
    except sqlglot.errors.UnsupportedError as error:
        yield 1, RULE, f"sqlglot cannot write this for Spark: {error}"


def _casts(query: exp.Expr) -> Found:
    """Casts to VARCHAR beside ||, which makes texts of numbers by itself."""
    for cast in query.find_all(exp.Cast):
        joined = isinstance(cast.parent, (exp.DPipe, exp.Concat, exp.ConcatWs))
        if cast.to.is_type(exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR) and joined:
            yield _line(cast), RULE, "leave the VARCHAR out: || makes a text of a number by itself"


def _line(node: exp.Expr) -> int:
    lines = (part.meta.get("line") for part in node.walk())
    return next((line for line in lines if line), 1)
