"""Units and crontab lines: what systemd and cron make of them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cpmon.batch.install import INTERVALS, cron_line, service, timer, verify_units
from cpmon.batch.plan import BatchPlan
from cpmon.cli.main import Status, run
from cpmon.config.settings import BatchSettings, InboxSettings
from tests.batch.site import Site

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here"
)
PLAN = BatchPlan(inboxes=(InboxSettings(Path("/in")),))


def install(site: Site, *words: str) -> Status:
    return run(["batch", "install", "--config", str(site.config), *words])


@needs_systemd
def test_units_are_written_verified_and_explained(site: Site, capfd: pytest.CaptureFixture[str]):
    site.configure('[batch]\nquarantine = "bad"\nmetrics = "prom/cpmon.prom"\n')
    units = site.folder / "units"
    assert install(site, "--systemd", "-o", str(units), "--run-as", "perf") is Status.DONE
    said = capfd.readouterr().err
    assert "systemctl enable --now cpmon-batch.timer" in said
    made = " ".join(str(site.folder / folder) for folder in ("bad", "prom", "store"))
    assert f"  chown -R perf {made}    (the service writes there)\n" in said
    text = (units / "cpmon-batch.service").read_text()
    for folder in ("store", "bad", "prom", "inbox"):
        assert f"ReadWritePaths={site.folder / folder}\n" in text
        assert (site.folder / folder).is_dir()
    assert (
        "User=perf\n" in text and "OnCalendar=*:0/15\n" in (units / "cpmon-batch.timer").read_text()
    )
    files = [str(units / f"cpmon-batch.{kind}") for kind in ("service", "timer")]
    assert subprocess.run(["systemd-analyze", "verify", *files], check=False).returncode == 0


@needs_systemd
@pytest.mark.parametrize("word", ["a b", "100%", "$HOME", "quo'te", 'dou"ble', "back\\slash"])
def test_paths_with_any_character_come_through_a_unit(word: str):
    text = service(["/usr/bin/true", word], PLAN, [Path("/var/x y%")], user=False)
    assert verify_units({"cpmon-batch.service": text}) == ""


@needs_systemd
def test_what_systemd_refuses_is_told():
    assert "cpmon-batch.timer" in verify_units({"cpmon-batch.timer": timer(15) + "[Timer]\nOn=x\n"})


def test_hooks_may_use_the_network_and_others_may_not():
    hooked = BatchPlan(inboxes=PLAN.inboxes, batch=BatchSettings(hook_end=("/usr/bin/mail",)))
    assert "PrivateNetwork=yes" in service(["x"], PLAN, [], user=False)
    assert "PrivateNetwork" not in service(["x"], hooked, [], user=False)


@pytest.mark.parametrize("word", ["a b", "100%", "$HOME; rm x", "quo'te", 'dou"ble', "`id`"])
def test_a_crontab_line_gives_the_shell_the_words_as_they_are(word: str):
    line = cron_line(["/bin/cpmon", word], 15)
    assert times_are_valid(line)
    command = line.split(None, 5)[5].replace("\\%", "%")  # as cron hands it on
    assert shlex.split(command.partition(" || ")[0]) == ["/bin/cpmon", word]


@pytest.mark.parametrize(
    ("minutes", "when"), [(5, "*/5 * * * *"), (60, "0 */1 * * *"), (360, "0 */6 * * *")]
)
def test_times_of_a_crontab_line(minutes: int, when: str):
    assert cron_line(["x"], minutes).startswith(f"{when} x ")


@pytest.mark.parametrize("minutes", INTERVALS)
def test_every_interval_is_a_crontab_time_that_comes_as_often_in_a_day(minutes: int):
    line = cron_line(["x"], minutes)
    assert times_are_valid(line)
    minute, hour = (field.split("/") for field in line.split()[:2])
    steps = [int(field[1]) if len(field) > 1 else 1 for field in (minute, hour)]
    per_day = (1 if minute == ["0"] else 60 // steps[0]) * (24 // steps[1])
    assert per_day * minutes == 24 * 60


def times_are_valid(line: str) -> bool:
    """Whether the five fields of a crontab line are *, a number or a step within their range."""
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    matches = [re.fullmatch(r"(?:\*|(\d+))(?:/([1-9]\d*))?", field) for field in line.split()[:5]]
    return all(
        match is not None and (match[1] is None or low <= int(match[1]) <= high)
        for match, (low, high) in zip(matches, ranges, strict=True)
    )


def test_a_crontab_line_is_printed_and_the_next_step_said(
    site: Site, capfd: pytest.CaptureFixture[str]
):
    assert install(site, "--cron", "--every", "30m") is Status.DONE
    out, err = capfd.readouterr()
    assert out.startswith("*/30 * * * * ") and out.endswith("|| [ $? -eq 3 -o $? -eq 75 ]\n")
    assert "crontab -e" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--systemd or --cron"),
        (("--cron", "--user-units"), "--user-units is about systemd"),
        (("--cron", "--every", "7m"), "runs cannot be that far apart"),
        (("--cron", "--every", "30s"), "30 seconds"),
        (("--cron", "--every", "90s"), "90 seconds"),
        (("--systemd", "--every", "30s"), "30 seconds"),
        (("--cron", "--every", "1d"), "1 day"),
    ],
)
def test_what_cannot_be_installed_is_told(
    site: Site, words: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str]
):
    assert install(site, *words) is Status.USAGE
    assert said in capfd.readouterr().err
