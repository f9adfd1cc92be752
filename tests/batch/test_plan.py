"""The batch's part of the settings: what is read, and what is said of mistakes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from cpmon.batch import BatchPlan, read_plan
from cpmon.batch.plan import output_path
from cpmon.config import Document
from cpmon.config.settings import SiteSettings, settings_from
from cpmon.core.errors import CpmonError

INBOX = '[[inbox]]\nfolder = "in"\n'
USERS = "[[output]]\nreport = 'USER_PAGING'\npath = 'x'\n"
TIMES = "[[output]]\nreport = 'PAGING_BY_TIME'\npath = 'x'\n"


def plan(text: str) -> BatchPlan:
    document = Document(text, "/site/cpmon.toml", "the settings")
    site = document.read(SiteSettings, Path("/site"))
    return read_plan(settings_from(site, document, {}))


def test_paths_start_at_the_folder_of_the_settings():
    found = plan(INBOX + '[batch]\nquarantine = "bad"\nmetrics = "/var/m.prom"\n')
    assert found.inboxes[0].folder == Path("/site/in")
    assert (found.batch.quarantine, found.batch.metrics) == (Path("/site/bad"), Path("/var/m.prom"))


def test_an_inbox_takes_the_batchs_settling_time_unless_it_has_its_own():
    found = plan(
        '[batch]\nsettle = "2m"\n'
        + INBOX
        + '[[inbox]]\nfolder = "b"\nsettle = "1h"\nsystem = "X"\n'
    )
    assert [inbox.settle for inbox in found.inboxes] == ["2m", "1h"]
    assert [inbox.system for inbox in found.inboxes] == [None, "X"]


def test_a_workbook_takes_several_reports_and_the_suffix_says_the_format():
    reports = 'report = ["paging-by-time", "PROCESSORS_BY_TIME"]'
    (output,) = plan(f'{INBOX}[[output]]\n{reports}\npath = "{{date}}.xlsx"\n').outputs
    assert (output.form, output.names) == ("xlsx", ("PAGING_BY_TIME", "PROCESSORS_BY_TIME"))
    forms = {
        suffix: plan(f'{INBOX}[[output]]\nreport = "events"\npath = "e.{suffix}"\n').outputs[0].form
        for suffix in ("csv", "json", "md", "xlsx", "txt", "html")
    }
    assert list(forms.values()) == ["csv", "json", "markdown", "xlsx", "table", "table"]


def test_a_list_of_reports_is_an_output_for_each():
    found = plan(
        INBOX + '[[output]]\nreport = ["paging-by-time", "PROCESSORS_BY_TIME"]\n'
        'path = "{name}-{date}.txt"\n'
    )
    assert [output.name for output in found.outputs] == ["PAGING_BY_TIME", "PROCESSORS_BY_TIME"]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "/site/cpmon.toml", "there is no inbox"),
        (INBOX + "[batch]\nquarantin = 'x'", "batch.quarantin", "did you mean quarantine?"),
        (INBOX + "recursve = true", "inbox[0].recursve", "did you mean recursive?"),
        (INBOX + "recursive = 1", "inbox[0].recursive", "true or false"),
        (INBOX + 'settle = "soon"', "inbox[0].settle", "as 90s, 15m, 1h or 2d"),
        (INBOX + 'system = "../x"', "inbox[0].system", "a system's name"),
        ("[inbox]\nfolder = 3", "inbox.folder", "a text"),
        ("inbox = 3", "inbox", "[[inbox]]"),
        (INBOX + "[batch]\nhook_end = 'x'", "batch.hook_end", "a list of texts"),
        (INBOX + "[[output]]\npath = 'x'", "output[0]", "one of report, table, pages, exceptions"),
        (INBOX + "[[output]]\nreport = 'CPU_BY_TIM'\npath = 'x'", None, "there is no report"),
        (INBOX + "[[output]]\npages = true\npath = '{day}'", "output[0].path", "did you mean date"),
        (INBOX + "[[output]]\npages = true\npath = '%H'", "output[0].path", "%H cannot stand"),
        (INBOX + "[[output]]\npages = true\npath = 'x'\nformat = 'csv'", "format", "html"),
        (
            INBOX + USERS + "shift = 'nigt'\n[shifts.night]\nfrom = '22:00'\nto = '06:00'",
            "output[0].shift",
            "did you mean night?",
        ),
        (INBOX + TIMES + "top = 3", "output[0].top", "nothing: PAGING_BY_TIME has lines by time"),
        (
            INBOX
            + "[[output]]\nreport = ['PAGING_BY_TIME', 'PROCESSORS_BY_TIME']\npath = '{date}'",
            "output[0].path",
            "a path with {name}",
        ),
    ],
)
def test_a_mistake_is_named_with_its_key_and_what_is_allowed(
    text: str, place: str | None, said: str
):
    with pytest.raises(CpmonError) as caught:
        plan(text)
    assert said in str(caught.value)
    assert (place or "") in (caught.value.place or "")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/o/{system}/%Y/%m/{name}-{date}.txt", "/o/VM1/2026/03/PAGING-2026-03-09.txt"),
        ("/o/%G-W%V/%j-100%%", "/o/2026-W11/068-100%"),
    ],
)
def test_marks_of_a_path_become_day_and_system(pattern: str, expected: str):
    assert output_path(Path(pattern), date(2026, 3, 9), "VM1", "PAGING") == Path(expected)


@pytest.mark.parametrize("system", ["../../etc", "a/b", "..", "/abs", "x\0y", "{date}%Y"])
def test_the_name_of_a_system_cannot_lead_out_of_its_folder(system: str):
    found = output_path(Path("/o/{system}/r.txt"), date(2026, 3, 9), system)
    assert found.parts[:2] == ("/", "o") and len(found.parts) == 4
    assert found.parts[2] not in ("..", ".") and "\0" not in str(found)
