"""Texts that leave the place where SQL of people stands, if they get into a statement as they are.

`{out}` is a folder beside the store with a file `secret.csv`, `{run}` a file of the store. A query
takes `QUERIES`, in which `{select}` is the query of the place; an expression or a condition takes
`EXPRESSIONS`, in which `{value}` is its honest text.
"""

from __future__ import annotations

COPIES = ("COPY (SELECT 42 AS a) TO '{out}/made.csv'", "COPY (SELECT '{{}}' AS a) TO '{run}'")
_ENDS = (*COPIES, "CREATE MACRO is_outside(a, b, c) AS true", "SET threads = 1", "DROP VIEW run_x")

EXPRESSIONS = (
    "(SELECT count(*) FROM read_text('{out}/secret.csv'))",
    "(SELECT count(*) FROM/**/read_text('{out}/secret.csv'))",
    "{value} FROM/**/read_text('{out}/secret.csv') --",
    "(SELECT max(content) FROM '{out}/secret.csv')",
    "{value}, (SELECT 1)",
    "{value}, 1 AS more",
    "{value}) AS a, (1",
    "{value}) FROM read_text('{out}/secret.csv') WHERE (true",
    "{value}) UNION ALL SELECT (1",
    "{value} AS a FROM meta.dump --",
    "{value} /*",
    "{value} */ /* a",
    "{value} $$",
    "$$ {value}",
    "$a$ {value}",
    "{value} '",
    '{value} "',
    "{value}; SELECT 1",
    "getenv('CPMON_SECRET')",
    "write_log('x')",
    "max({value}) OVER ()",
    "$1",
    "*",
    "COLUMNS(*)",
    "query('SELECT 1')",
    *(f"{{value}}); {end}; SELECT (1" for end in _ENDS),
    *(f"{{value}})); {end}; SELECT ((1" for end in _ENDS),
    *(f"{{value}} FROM t); {end} --" for end in _ENDS),
    *(f"{{value}} AS a FROM meta.dump; {end}; --" for end in _ENDS),
    *(f"(WITH x AS ({copy}) SELECT 1 FROM x)" for copy in COPIES),
)
"""Instead of an expression over the columns of a row: each is refused."""

QUERIES = (
    "{select}; SELECT 1",
    "{select}) AS a; SELECT * FROM (SELECT 1",
    "{select} $$",
    "{select} /*",
    "{select} '",
    *(f"{{select}}; {end}" for end in _ENDS),
    *(f"{{select}}); {end}; SELECT * FROM ({{select}}" for end in _ENDS),
    *(f"{{select}})); {end}; --" for end in _ENDS),
    *(f"{{select}} -- )\n); {end}; --" for end in _ENDS),
    *(f"WITH x AS ({copy}) {{select}}" for copy in COPIES),
    *(f"EXPLAIN ANALYZE {copy}" for copy in COPIES),
    *COPIES,
)
"""Instead of one query: each is refused."""

HONEST_ENDS = (" -- it ends so", " -- )", " /* a */", " -- '", " -- $$", "\n-- a\n", " --")
"""What may stand behind honest SQL without any effect."""
