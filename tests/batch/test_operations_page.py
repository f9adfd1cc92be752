"""docs/operations.md against the product: keys, messages, metrics and marks that exist."""

from __future__ import annotations

import re
from pathlib import Path

from cpmon.batch.metrics import render_metrics
from cpmon.batch.plan import CODES, read_plan
from cpmon.batch.state import State
from cpmon.config.settings import BatchSettings, InboxSettings, OutputSettings, parse_settings
from tests.batch.test_result import result

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_settings_to_start_from_are_read(tmp_path: Path):
    text, of_pages = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    file = tmp_path / "cpmon.toml"
    file.write_text(text + of_pages, encoding="utf-8")
    plan = read_plan(parse_settings(file))
    assert len(plan.outputs) == 4 and plan.batch.quarantine is not None


def test_every_key_of_the_batch_is_told():
    for table in (InboxSettings, BatchSettings, OutputSettings):
        for key in table.__struct_encode_fields__:
            assert f"`{key}`" in PAGE, key


def test_every_metric_is_told():
    for family in re.findall(r"# TYPE (\w+) (\w+)", render_metrics(State(), result(), None)):
        name = family[0] + ("_total" if family[1] == "counter" else "")
        assert f"`{name}" in PAGE


def test_every_code_of_a_path_is_told():
    assert all(f"%{code}" in PAGE for code in CODES)


def test_every_message_of_the_page_is_one_of_the_product():
    folders = ("batch", "cli", "ingest", "reduce", "store")
    source = "\n".join(
        file.read_text(encoding="utf-8") for f in folders for file in (ROOT / f).rglob("*.py")
    )
    section = PAGE.partition("## 5. ")[2]
    said = [
        m for row in re.findall(r"^\| (.*?) \| ", section, re.M) for m in re.findall("`(.+?)`", row)
    ]
    assert len(said) > 10
    for message in said:
        ours = re.sub(
            r"^(\.\.\.|STORE|VM1 and VM2|hook_end: \.\.\.) |: (No|Permission).*| N$", "", message
        )
        assert ours in source, message
