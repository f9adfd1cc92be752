"""SQL that tries to leave the sandbox, by the hundred thousand: `python -m tools.fuzz_sql`.

Texts are made from a grammar: queries, statements that write, and EXPLAIN before either, with
comments, quotes, dollar strings, blanks of Unicode and nested CTEs between and around them. Each is
asked as `cpmon query` asks it; every twentieth is written into definitions of a site, in the place
of a reduction or of the expression of a metric, and that reduction is asked. Nothing may change but
the answer: no file of the store, the working directory, the home and temporary folders, no variable
of the environment, no child process. What is raised but an error of the user is a fault as well. A
text is made again by its number and the seed: --only NUMBER.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cpmon.config.definitions import Definitions, use
from cpmon.core.errors import CpmonError
from cpmon.reduce.reductions.reductions import reductions
from cpmon.render.render import render_parts
from cpmon.store import Store, connect
from cpmon.store.answers import ask

COUNT = 100_000
LOOK_EVERY = 200
"""Texts between two looks at all folders; the texts since the last one are then told."""
DEFINED_EVERY = 20
"""Texts of which one becomes a part of definitions, which takes a hundred times as long to ask."""
DERIVED = re.compile(r"/\.cache/cpmon(/\w+\.msgpack)?$")
"""What cpmon keeps of definitions; SQL could write it no more than other files of the cache."""
DEEPEST = 3
SECRET = "4711-do-not-tell"

BLANKS = (" ", " ", " ", "\n", "\t", "\r\n", "\f", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u200b")
COMMENTS = (
    *("/**/", "/* a */", "/* a /* b */ c */", "/*/**/*/", "-- a\n", "--\n", "/* ' */", '/* " */'),
    *("/* -- */", "-- /*\n", "-- */\n", "/* $$ */", "/* ; */"),
)
UNBALANCED = ("/* a /* b */", "*/", "/*", "--")
PLAIN = 0.9
"""Share of blanks and comments that DuckDB takes for such; the others mostly end a text's parse."""
STRINGS = (
    *("'a'", "'it''s'", "''", "'--'", "'/*'", "'*/'", "';'", "$$a$$", "$a$ $$ $a$", "$$;'$$"),
    *("E'\\''", "E'\\\\'", "'a\n;b'", "U&'\\0041'", "x'41'", "'$$'", "$x$/*$x$"),
)
NAMES = ("a", '"a"', '"a b"', '"/*"', '"--"', '""""', "SELECT", '"COPY"', '"é"', "meta", "x")
READS = (
    "read_text('{to}/*')",
    "read_csv('{home}/secret.txt')",
    "glob('{home}/*')",
    "query('{nested}')",
    "json_execute_serialized_sql(json_serialize_sql('{nested}'))",
    "enable_logging(storage = 'file', storage_config = {{'path': '{to}/log'}})",
    "enable_profiling(save_location = '{to}/profile')",
    "checkpoint()",
    "range(3)",
    "(SELECT CAST(if(range = 5000, 'a', '1') AS INT) AS a FROM range(9000))",
    "test_all_types()",
    "meta.dump",
    "truncate_duckdb_logs()",
    "read_duckdb('{to}/other.duckdb')",
    "'{to}/other.duckdb'",
    "query_table('{to}/other.duckdb')",
)
CALLS = (
    "getenv('CPMON_SECRET')",
    "write_log('x')",
    "nextval('s')",
    "setseed(0.5)",
    "json_serialize_plan('{nested}')",
    "current_setting('temp_directory')",
    "upper('a')",
)
WRITES = (
    "COPY ({query}) TO '{to}/made.csv'",
    "COPY ({query}) TO '{to}/made.parquet' (FORMAT parquet)",
    "COPY ({query}) TO '{to}/made' (PARTITION_BY (a), FORMAT csv)",
    "COPY meta.dictionary FROM '{home}/secret.txt'",
    "ATTACH '{to}/made.duckdb' AS made",
    "EXPORT DATABASE '{to}/made'",
    "IMPORT DATABASE '{to}'",
    "INSTALL httpfs",
    "LOAD '{to}/made'",
    "SET enable_external_access = true",
    "SET VARIABLE a = 1",
    "PRAGMA profiling_output = '{to}/made'",
    "PRAGMA enable_profiling",
    "CALL enable_logging()",
    "CALL pragma_version()",
    "CREATE TABLE made AS {query}",
    "CREATE PERSISTENT SECRET s (TYPE s3)",
    "CREATE MACRO m() AS TABLE {query}",
    "INSERT INTO meta.dictionary {query}",
    "DELETE FROM meta.dictionary",
    "UPDATE meta.dictionary SET unit = 'x'",
    "DROP VIEW meta.dump",
    "PREPARE p AS {query}",
    "EXECUTE p",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
)
SELECT = """\
SELECT s.system,
       s.interval_end,
       s.seconds,
       -- Pages moved below 2 GB. NULL where it is not known.
       s.plsmvb2g AS pages,
       s.doubts
FROM interval.sytrsp AS s
"""
EXPRESSION = "pages / nullif(seconds, 0)"
REDUCTION = """\
-- A reduction of a site.
CREATE OR REPLACE VIEW own AS
{select}
"""
METRIC = """\
[[metric]]
name = "own_rate"
views = ["own"]
kind = "ratio"
numerator = "pages"
denominator = "seconds"
expression = {expression}
format = "1"
heading = "Own"
low = "0"
meaning = "A rate of a site."
"""
LEAVES = (
    "",
    " ",
    ")",
    "))",
    "; ",
    "); ",
    ")); ",
    ", ",
    " -- ",
    "\n)",
    " UNION ALL ",
    " AS a FROM own; ",
)
"""What may lead from an honest part of a statement to the text behind it."""


class Grammar:
    """Makes texts; `{to}` and `{home}` in them are folders."""

    def __init__(self, number: int, seed: int, to: str, home: str) -> None:
        self._random = random.Random(f"{seed}-{number}")
        self._places = {"to": to, "home": home}

    def text(self) -> str:
        """A text: mostly one statement, sometimes several."""
        statements = [self._explained() for _ in range(self._random.choice((1, 1, 1, 1, 2, 3)))]
        text = self._blank(0.3) + f"{self._blank(0.2)};{self._blank(0.2)}".join(statements)
        return text + self._random.choice(("", "", "", ";", self._blank(0.8)))

    def definitions(self) -> Definitions:
        """Definitions of a site with a text in the place of a reduction or an expression."""
        honest = {"select": SELECT, "expression": EXPRESSION}
        place = self._pick(*honest)
        begin = self._pick(honest[place], honest[place], "")
        written = honest | {place: begin + self._pick(*LEAVES) + self.text()}
        metric = METRIC.format(expression=json.dumps(written["expression"]))
        views = REDUCTION.format(select=written["select"])
        return Definitions("site", (("own.sql", views), ("own.toml", metric)))

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _blank(self, commented: float = 0.15) -> str:
        blank = " " if self._random.random() < PLAIN else self._random.choice(BLANKS)
        while self._random.random() < commented:
            comments = COMMENTS if self._random.random() < PLAIN else UNBALANCED
            blank += self._random.choice(comments) + " "
        return blank

    def _spread(self, text: str) -> str:
        """The text with other blanks, in other case."""
        words = text.split(" ")
        if self._random.random() < 0.3:
            words = [word if "'" in word or "/" in word else word.lower() for word in words]
        return "".join(word + self._blank(0.05) for word in words).rstrip(" ")

    def _explained(self) -> str:
        statement = self._statement()
        if self._random.random() < 0.5:
            return statement
        begin = self._pick(
            "EXPLAIN", "EXPLAIN ANALYZE", "EXPLAIN (ANALYZE)", "EXPLAIN (FORMAT json)",
            "EXPLAIN (ANALYZE, FORMAT json)", "DESCRIBE", "SUMMARIZE", "EXPLAIN EXPLAIN",
            "EXPLAIN SELECT 1 --", "EXPLAIN /* /* */ SELECT 1 -- */ ANALYZE",
        )  # fmt: skip
        return self._spread(begin) + self._blank(0.3) + statement

    def _statement(self) -> str:
        if self._random.random() < 0.45:
            return self._write(0)
        return self._query(0)

    def _write(self, depth: int) -> str:
        template = self._random.choice(WRITES)
        query = self._query(depth + 1) if "{query}" in template else ""
        return self._spread(template.format(query=query, **self._places))

    def _query(self, depth: int) -> str:
        if depth >= DEEPEST:
            return f"SELECT {self._random.choice(STRINGS)}"
        match self._random.randrange(8):
            case 0 | 1:
                kind = self._pick("", "RECURSIVE ", "")
                hint = self._pick("", "MATERIALIZED ", "NOT MATERIALIZED ")
                inner = self._write if self._random.random() < 0.5 else self._query
                return (
                    f"WITH {kind}x AS {hint}({self._blank()}{inner(depth + 1)}{self._blank()})"
                    f"{self._blank()}{self._pick('FROM x', 'SELECT * FROM x', 'TABLE x')}"
                )
            case 2:
                inner = self._write if self._random.random() < 0.3 else self._query
                return f"SELECT{self._blank()}({inner(depth + 1)}) AS {self._random.choice(NAMES)}"
            case 3:
                return f"FROM{self._blank()}({self._query(depth + 1)})"
            case 4:
                other = self._query(depth + 1)
                return f"{self._query(depth + 1)} {self._pick('UNION ALL', 'EXCEPT')} ({other})"
            case 5:
                nested = self._write(depth + 1).replace("'", "''")
                source = self._random.choice(READS).format(nested=nested, **self._places)
                return self._spread(self._pick("FROM ", "SELECT * FROM ")) + source
            case 6:
                nested = self._write(depth + 1).replace("'", "''")
                call = self._random.choice(CALLS).format(nested=nested, **self._places)
                return f"SELECT{self._blank()}{call}"
        return (
            f"SELECT{self._blank()}{self._random.choice(STRINGS)}{self._blank()}"
            f"AS{self._blank()}{self._random.choice(NAMES)}"
        )


class Fuzzer:
    """Asks texts of a store of its own, and looks at what they changed.

    Attributes:
        counts: texts that were answered and refused, by the first words of why.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._seed, self._folder = seed, folder
        self.store = Store(folder / "store", create=True)
        for name in ("home", "tmp", "cwd", "store/records", "store/runs", "store/reduced"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "home" / "secret.txt").write_text(f"a\n{SECRET}\n")

    def text(self, number: int) -> str:
        """The text of a number, or the definitions that are made with it; always the same."""
        grammar = self._grammar(number)
        if number % DEFINED_EVERY:
            return grammar.text()
        return "".join(text for _, text in grammar.definitions().texts)

    def _grammar(self, number: int) -> Grammar:
        to = ("store", "store/records", "store/runs", "home", "tmp", "cwd")[number % 6]
        return Grammar(number, self._seed, str(self._folder / to), str(self._folder / "home"))

    def run(self, numbers: range) -> list[str]:
        """What the texts of some numbers changed, and those that failed; there should be none."""
        wrong: list[str] = []
        with _moved_to(self._folder), connect(self.store, reductions()[:1]) as connection:
            assert connection.lineages  # computing them writes to the cache
            before = self._state()
            for number in numbers:
                text = self.text(number)
                try:
                    if number % DEFINED_EVERY:
                        answer = b"".join(render_parts(ask(connection, text), "json"))
                    else:
                        answer = self._answer_of_own(number)
                except CpmonError as error:
                    self.counts[" ".join(error.problem.partition(":")[0].split()[:4])] += 1
                except Exception as error:  # noqa: BLE001 - a failure of cpmon, and the next text
                    self.counts["failed"] += 1
                    wrong.append(f"{number}: {type(error).__name__}: {error}: {text!r}")
                else:
                    self.counts["answered"] += 1
                    if SECRET.encode() in answer:
                        wrong.append(f"{number}: shows the secret: {text!r}")
                if (number + 1) % LOOK_EVERY == 0 or number == numbers[-1]:
                    after = self._state()
                    if after != before:
                        changed = sorted(set(before.items()) ^ set(after.items()))
                        wrong.append(f"up to {number}: {changed}")
                        before = after
        return wrong

    def _answer_of_own(self, number: int) -> bytes:
        """What the reduction of a site answers whose definitions have the text of a number."""
        use(self._grammar(number).definitions())
        try:
            with connect(self.store, reductions()) as connection:
                return b"".join(render_parts(ask(connection, "FROM own"), "json"))
        finally:
            use(Definitions())

    def _state(self) -> dict[str, str]:
        """Everything that no text may change."""
        files = {
            str(file): f"{file.lstat().st_size} {file.lstat().st_mtime_ns}"
            for file in self._folder.rglob("*")
            if "spill-" not in str(file) and not DERIVED.search(str(file))
        }
        tasks = Path("/proc/self/task")
        children = [(task / "children").read_text() for task in tasks.glob("*")]
        return {**files, **os.environ, "children": "".join(children)}


@contextmanager
def _moved_to(folder: Path) -> Iterator[None]:
    """Work in a folder, with home and temporary files there as well."""
    before, directory = dict(os.environ), Path.cwd()
    os.environ |= {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(folder / "home" / ".cache"),
        "CPMON_SECRET": SECRET,
    }
    os.chdir(folder / "cwd")
    try:
        yield
    finally:
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(before)


def main() -> int:
    """Run texts; the status is 1 if one of them changed anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="print and run the text of this number")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder).resolve(), asked.seed)
        if asked.only is not None:
            print(fuzzer.text(asked.only))
        numbers = range(asked.count) if asked.only is None else range(asked.only, asked.only + 1)
        wrong = fuzzer.run(numbers)
    for line in wrong:
        print(line)
    print(f"{len(numbers):,} texts, {len(wrong)} faults; {dict(fuzzer.counts.most_common())}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
