"""`cpmon validate` as users meet it: what it prints, writes and ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from cpmon.config import Settings
from cpmon.config.values import Text
from cpmon.core.sql import UserSql
from cpmon.ingest import ingest
from cpmon.reduce.rules.coverage import Coverage
from cpmon.reduce.rules.rendering import render_findings
from cpmon.reduce.rules.rule import Purpose, Rule, Severity
from cpmon.reduce.rules.validation import RuleResult, Status, Validation, outcomes, validate_spans
from cpmon.store import Store
from cpmon.store.sql.scope import Scope
from tests.cli.answer import Cpmon
from tests.validate.conftest import SAMPLES


@pytest.fixture(scope="module")
def timer(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Run 2600NP, whose users seem to hold more pages than there are, but for the first sample."""
    store = Store(tmp_path_factory.mktemp("timer") / "store", create=True)
    ingest(SAMPLES / "timer" / "2600NP.mon.zst", store)
    (file,) = store.records.glob("*/*/*/*/useact.parquet")
    table = pq.ParquetFile(file).read()
    pages, ends = table["vmdctpvr"], table["interval_end"]
    many = pc.if_else(pc.greater(ends, pc.min(ends)), pc.add(pages, 1 << 24), pages)
    at = table.schema.get_field_index("vmdctpvr")
    pq.write_table(table.set_column(at, table.field(at), many), file)
    return store


RULE = Rule(Text("t"), Severity.INFO, sql=UserSql("SELECT 1"), id="r", purpose=Purpose.VALIDATION)
ONLY = ("--rule", "users-counted", "--rule", "pages-fit-frames", "--rule", "device-busy")


def test_a_sound_store_passes(cpmon: Cpmon, lab: Store):
    answer = cpmon("validate", "--store", lab.root, *ONLY)
    assert answer.status == 0
    assert answer.text.splitlines() == [
        "Validation: 0 failed, 3 passed, 0 not applicable",
        "All systems, 2006-02-14 08:00:00 to 2006-02-14 09:00:00 UTC, 61 intervals",
    ]
    assert answer.err == ""


def test_a_critical_rule_that_fails_ends_with_4(cpmon: Cpmon, timer: Store):
    answer = cpmon("validate", "--store", timer.root, *ONLY)
    assert answer.status == 4
    assert "critical  pages-fit-frames    3" in answer.text
    assert "* pages-fit-frames: VMDCTPVR of USEACT" in answer.text
    assert "The layout of" not in answer.text
    assert answer.err == ""


def test_json_has_every_rule(cpmon: Cpmon, timer: Store):
    answer = cpmon("validate", "--store", timer.root, *ONLY, "--format", "json")
    found = json.loads(answer.text)
    assert answer.status == 4
    assert found["schema_version"] == 2
    assert found["counts"] == {"failed": 1, "passed": 2, "not applicable": 0}
    by_id = {one["rule"]: one for one in found["rules"]}
    assert by_id["pages-fit-frames"] == {
        "rule": "pages-fit-frames",
        "severity": "critical",
        "status": "failed",
        "checked": 4,
        "bad": 3,
        "title": "The users' resident pages fit into real storage",
        "reason": None,
    }


def test_rows_are_the_ones_that_were_counted_and_the_sql_finds_them(cpmon: Cpmon, timer: Store):
    asked = ("validate", "--store", timer.root, "--rows", "pages-fit-frames")
    rows = cpmon(*asked, "--format", "csv")
    assert rows.status == 0
    lines = rows.text.splitlines()
    assert lines[0] == "system,interval_end,object,value,least,most"
    assert len(lines) == 4
    assert all(",all users," in line for line in lines[1:])
    sql = cpmon(*asked, "--sql").text
    again = cpmon("query", sql, "--store", timer.root, "--format", "csv")
    assert again.text == rows.text


def test_a_warning_ends_with_3_and_a_rule_may_be_made_one(
    cpmon: Cpmon, timer: Store, tmp_path: Path
):
    file = tmp_path / "rules.toml"
    file.write_text('[validation.pages-fit-frames]\nseverity = "warning"\n')
    answer = cpmon("validate", "--store", timer.root, *ONLY, "--rules", file)
    assert answer.status == 3
    file.write_text('[validation.pages-fit-frames]\nseverity = "info"\n')
    assert cpmon("validate", "--store", timer.root, *ONLY, "--rules", file).status == 0


def test_a_rule_of_the_site_is_asked_by_its_sql(cpmon: Cpmon, timer: Store, tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text(
        "[validation.few-users]\n"
        'title = "No more users than the licence covers"\nseverity = "critical"\n'
        "sql = '''SELECT system, interval_end, 'all' AS object, sysusrs AS value,\n"
        "  NULL AS least, 100 AS most FROM monitor.sytusr'''\n"
    )
    answer = cpmon(
        "validate", "--store", timer.root, "--rules", file, "--rule", "few-users",
        "--format", "csv",
    )  # fmt: skip
    assert answer.status == 4
    assert answer.text.splitlines()[1].startswith("few-users,critical,failed,4,4,")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("[validation.useact]\nenabled = false", "there is no rule useact, and it has no sql"),
        ("[validation.device-busy]\nlimit = 3", "there is no key limit"),
        ('[validation.device-busy]\nseverity = "bad"', "expected  info, warning, critical"),
        ("[validations.device-busy]", "did you mean validation?"),
        ("[validation]\ndevice-busy = 3", "a table, as [validation.device-busy]"),
        ("not toml", "the rules cannot be read"),
        (
            "[validation.bad]\ntitle='t'\nseverity='info'\nsql='SELECT 1 AS x'",
            "rule bad cannot be evaluated",
        ),
        (
            "[validation.bad]\ntitle='t'\nseverity='info'\nsql=\"COPY (SELECT 1) TO 'x'\"",
            "only queries are allowed",
        ),
    ],
)
def test_a_rule_that_means_nothing_is_told(
    cpmon: Cpmon, timer: Store, tmp_path: Path, rules: str, said: str
):
    file = tmp_path / "rules.toml"
    file.write_text(rules)
    only = ("--rule", "bad") if "validation.bad" in rules else ()
    answer = cpmon("validate", "--store", timer.root, "--rules", file, *only)
    assert answer.status == 2
    assert said in answer.err


def test_what_cannot_be_asked_is_told(cpmon: Cpmon, timer: Store, tmp_path: Path):
    asked = ("validate", "--store", timer.root)
    assert "name the rule" in cpmon(*asked, "--sql").err
    assert "name its file with -o FILE" in cpmon(*asked, "--html").err
    assert "did you mean TIMER" in cpmon(*asked, "--system", "TIMRE").err
    empty = cpmon(*asked, "--since", "2030-01-01", "--rule", "device-busy")
    assert (empty.status, "no interval is in that span" in empty.err) == (2, True)
    Store(tmp_path / "new", create=True)
    assert "ingest a dump first" in cpmon("validate", "--store", tmp_path / "new").err


def test_the_rules_are_listed_without_being_asked(cpmon: Cpmon, timer: Store):
    answer = cpmon("validate", "--store", timer.root, "--list", "--format", "csv")
    assert answer.status == 0
    assert "useact.counters,warning,Every delta of useact is possible,layout of USEACT" in (
        answer.text
    )


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(
    cpmon: Cpmon, timer: Store, tmp_path: Path
):
    page = tmp_path / "out" / "validation.html"
    answer = cpmon("validate", "--store", timer.root, *ONLY, "--html", "-o", page, "--parents")
    assert (answer.status, answer.text) == (4, "")
    text = page.read_text(encoding="utf-8")
    assert "<code>pages-fit-frames</code>" in text
    assert "://" not in text and "<script" not in text
    hostile = replace(RULE, id="a<b>", title=Text("<script>"), meaning=Text("&"), remedy=Text("'"))
    found = outcomes([RuleResult(hostile, 1, 1)])
    shown = render_findings(
        Validation(found, Coverage(Scope("<i>"), None, None, None, 0)), "html"
    ).decode()
    assert "&lt;script&gt;" in shown and "<script" not in shown and "<i>" not in shown


@pytest.mark.slow
def test_a_span_is_validated_by_the_dumps_it_rests_on(tmp_path: Path):
    store = Store(tmp_path / "store", create=True)
    for name in ("timer/2600NP", "timer/3600P1", "pfault/31C81X0"):
        ingest(SAMPLES / f"{name}.mon.zst", store)
    changed = {"useact.keys": {"enabled": False}, "device-busy": {"severity": "info"}}
    (found,) = validate_spans(store, [Scope("PFAULT")], Settings(validation=changed))
    assert found.worst is None
    ids = {one.rule.id: one for one in found.outcomes}
    assert "useact.keys" not in ids
    assert ids["device-busy"].rule.severity is Severity.INFO
    assert ids["bytes-accounted"].checked == 1
    assert found.of(Status.PASSED)


def test_nothing_that_applies_is_no_success():
    (found,) = outcomes([RuleResult(RULE, 0, 0, "no record")])
    assert found.status is Status.NOT_APPLICABLE
