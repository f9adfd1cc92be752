"""Names that Tab completes on a command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import BashComplete, split_arg_string
from click.testing import CliRunner

from cpmon.cli.main import cpmon


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("report processors", ["PROCESSORS", "PROCESSORS_BY_TIME"]),
        ("report fcx11", ["FCX110", "FCX112"]),
        ("report --store {store} --run 26", ["2600NP"]),
        ("report --store {store} --system t", ["TIMER"]),
        ("report user_paging --store {store} --user linxp59", ["LINXP590", "LINXP591"]),
        ("compare --store {store} --base 36", ["3600P1"]),
        ("compare timer_t1", ["timer_t1"]),
        ("query busiest_u", ["busiest_users"]),
        ('query --store {store} "from monitor.sytrsp', ["from monitor.sytrsp"]),
        ("generate time", ["timer"]),
        ("generate timer --run 2600", ["2600NP", "2600P"]),
        ("reduce users_by", ["users_by_time"]),
        ("schema show sytrs", ["sytrsg", "sytrsp"]),
        ("report --store /nowhere --run 2", []),
    ],
)
def test_a_name_is_completed(line: str, expected: list[str], perf: Path):
    bash = BashComplete(cpmon, {}, "cpmon", "_CPMON_COMPLETE")
    *words, last = split_arg_string(line.format(store=perf))
    assert [item.value for item in bash.get_completions(words, last)][:2] == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: str):
    text = CliRunner().invoke(cpmon, ["completion", shell]).output
    assert f"_CPMON_COMPLETE={shell}_complete" in text
