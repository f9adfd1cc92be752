"""Tables of samples, durations, differences, changes, attributes and tests: small and by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.compare import ComparisonTable, compare, parse_spec, render_comparison
from cpmon.reduce.compare.spec import KINDS, Wording
from cpmon.render.printing import Style
from tests.reduce.catalogue import empty_catalogue, insert, minute

TIMES = {  # CP time of each sample, hundredths of a second
    "OFF": (38, 40, 42),
    "ONCE": (70, 74, 78),
    "TWICE": (110, 110, 113),
}
READ = {"ONCE": (1, 4000), "TWICE": (2, 8000)}  # passes, and the rate of the third sample
HEAD = 'name = "t"\nheader = []\nratios = false\n'


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """Three runs of three samples of 100 s; reading a pass takes 100 s, the second none or 25 s."""
    con = empty_catalogue()
    for n, (run, times) in enumerate(TIMES.items()):
        window = {"since": minute(n), "until": minute(n + 1)}
        insert(con, "meta.run", {"run_id": run, "system": "LAB", "users": 10 * n, **window})
        for row in _samples(run, times):
            insert(con, *row)
    con.execute("UPDATE meta.run SET attributes = MAP {'files': '600'} WHERE run_id = 'OFF'")
    return con


def _samples(run: str, times: tuple[int, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for sample, cp in enumerate(times, start=1):
        key = {"run_id": run, "sample": sample}
        virtual = 20_000 + cp
        yield "meta.query_time", {**key, "seconds": 202, "virtual_cs": virtual, "cp_cs": cp}
        if run in READ:
            # 400,000 KB at 4000 KB/s are 100 s; 800,000 KB at 6400 KB/s are 125 s
            passes, last = READ[run]
            kb, rate = 400_000 * passes, last if sample == 3 else 4000 + 2400 * (passes - 1)
            for measure, value in (("read_kb", kb), ("read_kb_per_s", rate)):
                yield "meta.run_sample", {**key, "measure": measure, "value": value}


def table(con: duckdb.DuckDBPyConnection, text: str) -> ComparisonTable:
    return compare(con, parse_spec(HEAD + text, "t.toml"))


def cells(found: ComparisonTable) -> dict[str, str]:
    return {cell.run_id: cell.text for cell in found.cells}


def test_samples_print_n_mean_and_deviation(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        'runs = ["OFF", "ONCE", "TWICE"]\n'
        '[[groups]]\nrows = [{ label = "CP", source = "qt", samples = "cp_cpu_cs" }]',
    )
    # deviations 2, 0, 2: root of 8/3; 4, 0, 4: root of 32/3; 1, 1, 2: root of 2
    assert cells(found) == {"OFF": "3/40/1.633", "ONCE": "3/74/3.266", "TWICE": "3/111/1.414"}
    assert {cell.source for cell in found.cells} == {"qt"}


DIFFERENCES = """
runs = ["ONCE", "FIRST", "SECOND"]
differences = [
  { run = "FIRST", of = "ONCE", less = "OFF" },
  { run = "SECOND", of = "TWICE", less = "ONCE" },
]
"""


def test_a_difference_is_taken_sample_by_sample(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        DIFFERENCES + '[[groups]]\nrows = [{ label = "CP", source = "qt", samples = "cp_cpu_cs" }]',
    )
    # ONCE - OFF is 32, 34, 36; TWICE - ONCE is 40, 36, 35: deviations 3, -1, -2 from 37
    assert cells(found) == {"ONCE": "3/74/3.266", "FIRST": "3/34/1.633", "SECOND": "3/37/2.160"}
    assert [cell.source for cell in found.cells] == ["qt", "calc", "calc"]


def test_a_rate_of_a_difference_is_amount_over_time_pair_by_pair(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        DIFFERENCES + '[[groups]]\nrows = [{ label = "Read", samples = "read_kb_per_s", '
        'quotient = ["read_kb", "read_s"], texts = { FIRST = "see ONCE" }, '
        'notes = { SECOND = "see below" } }]',
    )
    # 400,000 KB more in 25 s more, twice; no time more in the third pair, so it has no rate
    assert cells(found) == {
        "ONCE": "3/4000/0",
        "FIRST": "see ONCE",
        "SECOND": "2/16000/0 (see below)",
    }


def test_runs_with_other_samples_have_no_difference(con: duckdb.DuckDBPyConnection):
    found = table(
        con, DIFFERENCES + '[[groups]]\nrows = [{ label = "Read", samples = "read_kb_per_s" }]'
    )
    (first,) = [cell for cell in found.cells if cell.run_id == "FIRST"]
    assert (first.text, first.reason) == (
        "",
        "Read: run FIRST has no samples of read_kb_per_s",
    )


def test_a_difference_of_a_run_that_is_missing_says_so(con: duckdb.DuckDBPyConnection):
    found = table(
        con, DIFFERENCES.replace("OFF", "NEVER") + '[[groups]]\nrows = [{ label = "CP", '
        'samples = "cp_cpu_cs" }, { label = "Total", total = "cp_cpu_cs" }]'
    )  # fmt: skip
    reasons = {(cell.run_id, cell.row_label): cell.reason for cell in found.cells}
    assert reasons["FIRST", "CP"] == "run NEVER is not in the store"
    assert reasons["SECOND", "Total"] == "Total: SECOND is a difference of samples"


def test_durations_are_totals_of_a_run_in_minutes(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        """runs = ["OFF"]
        [[groups]]
        rows = [
          { label = "Duration", total = "duration_s", style = "mm:ss" },
          { label = "Virtual", total = "virtual_cpu_cs", scale = 0.01, style = "mm:ss.hh" },
          { label = "CP", total = "cp_cpu_cs", scale = 0.01, style = "mm:ss.hh" },
        ]""",
    )
    # 3 times 202 s; 600 s and 1.20 s; 1.20 s
    assert [cell.text for cell in found.cells] == ["10:06", "10:01.20", "1.20"]


def test_attributes_print_as_they_are_and_columns_can_have_other_names(
    con: duckdb.DuckDBPyConnection,
):
    found = table(
        con,
        """runs = ["OFF", "ONCE"]
        names = { OFF = "5G" }
        [[groups]]
        rows = [
          { label = "Files", attribute = "files" },
          { label = "Users", attribute = "users" },
        ]""",
    )
    assert [(cell.run_id, cell.text, cell.source) for cell in found.cells] == [
        ("5G", "600", "cfg"),
        ("5G", "0", "cfg"),
        ("ONCE", "", "cfg"),
        ("ONCE", "10", "cfg"),
    ]
    assert found.reasons() == ("Files: run ONCE has no attribute files",)
    assert "Run      5G   ONCE\n" in render_comparison(found).decode()


def test_a_column_of_changes_has_two_digits(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        """runs = ["Some", "Much", "None"]
        changes = [
          { run = "Some", of = "ONCE", base = "TWICE" },
          { run = "Much", of = "TWICE", base = "ONCE" },
          { run = "None", of = "OFF", base = "OFF" },
        ]
        [[groups]]
        rows = [
          { label = "CP", samples = "cp_cpu_cs" },
          { label = "Virtual", samples = "virtual_cpu_cs" },
        ]""",
    )
    values = {(cell.row_label, cell.run_id): cell.text for cell in found.cells}
    # 74/111, 111/74 and 20111/20074 of the printed means
    assert values == {
        ("CP", "Some"): "-33",
        ("CP", "Much"): "50",
        ("CP", "None"): "0.0",
        ("Virtual", "Some"): "-0.2",
        ("Virtual", "Much"): "0.2",
        ("Virtual", "None"): "0.0",
    }


def test_claims_are_said_in_words_percent_size_or_confidence(con: duckdb.DuckDBPyConnection):
    claim = '{{ label = "{0}", row = "CP", base = "ONCE", run = "SECOND", wording = "{0}"{1} }},'
    wordings = {"words": "", "percent": ", significant = 4", "size": ", digits = 1"}
    claims = "".join(claim.format(*said) for said in (wordings | {"confidence": ""}).items())
    more = (
        '{ label = "cl", row = "CP", base = "ONCE", run = "SECOND", wording = "confidence", '
        'table = "tests" }, '
        '{ label = "cl", row = "CP", base = "FIRST", run = "SECOND", wording = "confidence" }'
    )
    found = table(
        con,
        f"{DIFFERENCES}claims = [{claims}{more}]\n"
        '[[groups]]\nrows = [{ label = "CP", samples = "cp_cpu_cs" }]',
    )
    said = [(c.table, c.run_id, c.row_label, c.text) for c in found.cells if c.table != "t"]
    # SECOND is 37, ONCE 74; FIRST 34 with variance 4, SECOND with variance 7: t = 1.57, p = 0.2
    assert said == [
        ("t_claims", "ONCE|SECOND", "words", "50% decrease"),
        ("t_claims", "ONCE|SECOND", "percent", "-50.00%"),
        ("t_claims", "ONCE|SECOND", "size", "50.0%"),
        ("t_claims", "ONCE|SECOND", "confidence", "99%"),
        ("tests", "ONCE|SECOND", "cl", "99%"),
        ("t_claims", "FIRST|SECOND", "cl", "not significant"),
    ]
    assert "cl, FIRST to SECOND: not significant\n" in render_comparison(found).decode()


def test_a_test_without_samples_says_what_it_needs(con: duckdb.DuckDBPyConnection):
    found = table(
        con,
        'runs = ["OFF", "ONCE"]\nclaims = [{ label = "cl", row = "R", base = "OFF", run = "ONCE", '
        'wording = "confidence" }]\n[[groups]]\nrows = [{ label = "R", samples = "read_s" }]',
    )
    assert found.cells[-1].reason == "R: a t-test needs two samples of OFF and ONCE"


ROW = '[[groups]]\nrows = [{ label = "CP", samples = "cp_cpu_cs" }]\n'


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        (ROW.replace("cp_cpu_cs", "cpu_cs"), "groups[0].rows[0].samples", "a measure of run_sampl"),
        (
            ROW.replace('"cp_cpu_cs"', '"read_s", quotient = ["read_kb"]'),
            "groups[0].rows[0].quotient",
            "two measures",
        ),
        (
            ROW.replace('"cp_cpu_cs"', '"cp_cpu_cs", texts = { C = "n/a" }'),
            "groups[0].rows[0].texts",
            "a text for some of A, B",
        ),
        (ROW.replace("}]", ", scale = -1 }]"), "groups[0].rows[0].scale", "a number up to"),
        (
            'differences = [{ run = "C", of = "A", less = "B" }]\n' + ROW,
            "differences[0].run",
            "one of the table's runs: A, B",
        ),
        (
            'differences = [{ run = "B", of = "A", less = "B" }]\n' + ROW,
            "differences",
            "of measured runs",
        ),
        (
            'differences = [{ run = "B", of = "C", less = "D" }]\n'
            'changes = [{ run = "B", of = "C", base = "D" }]\n' + ROW,
            "differences",
            "each run computed once",
        ),
        (
            'claims_table = "t"\n'
            'claims = [{ label = "c", row = "CP", base = "A", run = "B" }]\n' + ROW,
            "claims_table",
            "for claims and steps other blocks",
        ),
        ('names = { A = "B" }\n' + ROW, "names", "a name for one column each"),
        (
            'claims = [{ label = "c", row = "CP", base = "A", run = "B", wording = "loud" }]\n'
            + ROW,
            "claims[0].wording",
            "words, percent, size, confidence",
        ),
        (
            'claims = [{ label = "c", row = "T", base = "A", run = "B", wording = "confidence" }]\n'
            '[[groups]]\nrows = [{ label = "T", total = "cp_cpu_cs" }]\n',
            "claims[0].row",
            "the label of a row of samples",
        ),
    ],
)
def test_a_wrong_key_is_named_with_what_is_allowed(text: str, place: str, expected: str):
    with pytest.raises(CpmonError) as caught:
        parse_spec('name = "t"\nruns = ["A", "B"]\n' + text, "t.toml")
    assert (caught.value.place or "").startswith(f"t.toml: {place}")
    assert (caught.value.expected or "").startswith(expected)


STEPS = """
[[steps]]
table = "t_steps"
label = "both"
about = "OFF|ONCE"
divide = [{ row = "CP", of = ["OFF", "ONCE"] }, 8]
digits = 1

[[steps]]
table = "t_steps"
label = "less"
about = "all"
minus = ["both", 100.5]

[[steps]]
table = "t_steps"
label = "rounded"
about = "ONCE"
divide = [1234, 1]
digits = -2

[[steps]]
table = "t_steps"
label = "never"
about = "OFF"
divide = [1, { row = "CP", of = ["TWICE"] }]
"""


def test_steps_go_on_with_what_was_printed(con: duckdb.DuckDBPyConnection):
    text = 'runs = ["OFF", "ONCE", "TWICE"]\n' + ROW.replace("}]", ', texts = { TWICE = "n/a" } }]')
    found = table(con, text + STEPS)
    steps = {c.row_label: (c.run_id, c.text, c.reason) for c in found.cells if c.table == "t_steps"}
    # (40 + 74) / 2 / 8 = 7.125, printed 7.1; 7.1 - 100.5 = -93.4; 12 hundreds
    assert steps == {
        "both": ("OFF|ONCE", "7.1", ""),
        "less": ("all", "-93", ""),
        "rounded": ("ONCE", "1200", ""),
        "never": ("OFF", "", "n/a is no number"),
    }
    assert "both, OFF to ONCE: 7.1\n" in render_comparison(found, "markdown").decode()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("divide = [1234, 1]", "divide = [1234]", "steps[2].divide"),
        ("divide = [1234, 1]", 'divide = [1234, "after"]', "steps[2].divide"),
        ("divide = [1234, 1]", 'divide = [1234, { row = "CP" }]', "steps[2].divide"),
        ('of = ["TWICE"]', 'of = ["D"]', "steps[3].divide"),
        ('label = "less"', 'label = "both"', "steps[1].label"),
        ("digits = -2", "digits = 0.5", "steps[2].digits"),
        ('minus = ["both", 100.5]', "", "steps[1].divide"),
    ],
)
def test_a_wrong_step_is_named(old: str, new: str, key: str):
    text = HEAD + 'runs = ["OFF", "ONCE", "TWICE"]\n' + ROW + STEPS.replace(old, new)
    with pytest.raises(CpmonError) as caught:
        parse_spec(text, "t.toml")
    assert (caught.value.place or "").startswith(f"t.toml: {key}")


def test_the_text_says_what_computed_columns_are(con: duckdb.DuckDBPyConnection):
    found = table(
        con, DIFFERENCES.replace("SECOND", "MORE") + 'names = { ONCE = "1" }\n' + ROW
    )  # fmt: skip
    text = render_comparison(found).decode()
    assert "FIRST is 1 less OFF, sample by sample\nMORE is TWICE less 1, sample by sample\n" in text
    changed = table(
        con, 'runs = ["UP"]\nchanges = [{ run = "UP", of = "ONCE", base = "OFF" }]\n' + ROW
    )
    assert "UP is the change from OFF to ONCE, percent\n" in render_comparison(changed).decode()


PAGE = (Path(__file__).parents[2] / "docs" / "comparisons.md").read_text(encoding="utf-8")


def test_the_page_of_reports_shows_specs_that_can_be_read():
    whole, computed, steps = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    rows = '[[groups]]\nrows = [{ label = "Read rate", samples = "read_kb_per_s" }]\n'

    assert parse_spec(whole, "whole").claims[0].label == "Total Util change"
    assert parse_spec(f'name = "t"\n{computed}{rows}', "computed").measured == ("M11", "M12")
    assert len(parse_spec(f'name = "t"\nruns = ["M12"]\n{rows}{steps}', "steps").steps) == 2


def test_the_page_of_reports_names_every_word_of_a_spec():
    words = set(re.findall(r"`([\w:.]+)`", PAGE))
    assert {*KINDS, *Style, *Wording} <= words
