"""docs/serve.md: its addresses are answered, its commands parsed, its unit accepted by systemd."""

from __future__ import annotations

import re
import shlex
import shutil
from html import unescape
from pathlib import Path

import pytest

from cpmon.cli.main import cpmon
from cpmon.cli.shell.serve_command import command
from tests.serve.conftest import ROOT, Server
from tests.units import units_of, verify_units

TEXT = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
ADDRESSES = [
    address.replace("...", "select+1")
    for row in re.findall(r"^\|(.*?)\|.*\|$", TEXT, re.M)
    for address in re.findall(r"`(/[^`]*)`", row)
]


@pytest.mark.slow
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_the_page_is_answered_by_relative_links(server: Server, address: str):
    answer = server.get(address.removeprefix("/"))
    assert answer.status == 200
    if answer.headers["content-type"].startswith("text/html"):
        links = re.findall(r'\b(?:href|action|formaction|src)="([^"]*)"', answer.text)
        assert links
        absolute = [link for link in links if re.match(r"/|\w+:", unescape(link))]
        assert {link.partition(",")[0] for link in absolute} <= {"data:"}


def test_there_are_addresses_of_all_kinds():
    kinds = {re.split(r"[?.]", address)[0] for address in ADDRESSES}
    assert kinds == {"/", "/page", "/object", "/query", "/chart", "/report", "/explain", "/tables"}


def _lines() -> list[str]:
    return re.findall(r"cpmon serve (--.*)$", TEXT, re.M)


@pytest.mark.parametrize("line", _lines())
def test_a_command_of_the_page_has_the_options_that_it_names(line: str):
    # A command keeps the help option of its first context, which must be that of the program.
    command.make_context("serve", shlex.split(line), cpmon.make_context("cpmon", ["serve"]))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_accepts_the_unit(tmp_path: Path):
    (unit,) = units_of(TEXT)
    assert verify_units(tmp_path, {"cpmon-serve.service": unit}) == ""
