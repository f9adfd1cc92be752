"""Settings: which file counts, what is stronger, where each value came from, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from msgspec import structs

from cpmon.cli.main import Status
from cpmon.cli.main import cpmon as group
from cpmon.config import FILE, read_settings
from cpmon.config.settings import (
    VARIABLES,
    WITH_FORMAT,
    RetentionSettings,
    ShiftSettings,
    SiteSettings,
    SystemSettings,
    parse_settings,
    settings_files,
)
from cpmon.core.errors import CpmonError
from tests.cli.answer import Answer, Cpmon

DOC = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"

WHOLE = """\
store = "perf"
timezone = "Europe/Vienna"
classes = "~/uclass.txt"
memory_limit = "2GB"
threads = 2

[formats]
default = "csv"
report = "text"

[systems."VM.1"]
timezone = "America/New_York"
release = "7.3"

[shifts.prime]
days = "mon-fri"
from = "08:00"
to = "18:00"

[retention]
raw = "30d"
interval = "90d"
hour = "1y"

[exceptions.processor-busy]
limit = 95
shift = "prime"

[[inbox]]
folder = "/in"
"""


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """No variable and no file of the user's or of the working directory has a say."""
    for name in ("CONFIG", "STORE", "TZ", "CLASSES", "MEMORY_LIMIT", "THREADS"):
        monkeypatch.delenv(f"CPMON_{name}", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def shown(answer: Answer) -> dict[str, tuple[str, str]]:
    return {row["setting"]: (row["value"], row["origin"]) for row in answer.rows}


def test_a_file_is_read_to_its_last_key(tmp_path: Path):
    found = parse_settings(written(tmp_path / "a.toml", WHOLE))
    assert found.store == tmp_path / "perf"
    assert (found.timezone, found.memory_limit, found.threads) == ("Europe/Vienna", "2GB", 2)
    assert found.classes == Path("~/uclass.txt").expanduser()
    assert (found.zone("VM.1"), found.zone("VM2"), found.zone(None)) == (
        "America/New_York",
        "Europe/Vienna",
        "Europe/Vienna",
    )
    assert (found.release("VM.1"), found.release("VM2")) == ("7.3.0", "")
    assert (found.format_of("report"), found.format_of("query")) == ("text", "csv")
    assert found.shift("prime").days == (1, 2, 3, 4, 5)
    assert found.retention == {"raw": "30d", "interval": "90d", "hour": "1y"}
    assert [inbox.folder for inbox in found.inboxes] == [Path("/in")]
    assert found.place("inbox[0].patterns") == f"{found.file}: inbox[0].patterns"


def test_the_first_file_counts_and_counts_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = tmp_path / "store"
    by_strength = [
        written(tmp_path / "home" / "cpmon" / "config.toml", 'timezone = "Etc/GMT+1"'),
        written(store / FILE, 'timezone = "Etc/GMT+2"\nthreads = 3'),
        written(tmp_path / "work" / FILE, 'timezone = "Etc/GMT+3"'),
        written(tmp_path / "variable.toml", 'timezone = "Etc/GMT+4"'),
        written(tmp_path / "flag.toml", 'timezone = "Etc/GMT+5"'),
    ]
    contents = [file.read_text() for file in by_strength]
    for file in by_strength:
        file.unlink()
    assert read_settings(store).timezone == "UTC"
    for number, (file, content) in enumerate(zip(by_strength, contents, strict=True), start=1):
        written(file, content)
        if file.name == "variable.toml":
            monkeypatch.setenv("CPMON_CONFIG", str(file))
        found = read_settings(store, file if file.name == "flag.toml" else None)
        assert found.timezone == f"Etc/GMT+{number}"
        assert found.threads == (3 if number == 2 else None)
    assert [place.resolve() for place in settings_files(store)] == by_strength[2::-1]


def test_the_users_file_may_name_the_store_and_the_stores_own_the_rest(tmp_path: Path):
    store = tmp_path / "store"
    users = written(tmp_path / "home" / "cpmon" / "config.toml", f'store = "{store}"\nthreads = 1')
    assert (read_settings().store, read_settings().threads) == (store, 1)
    own = written(store / FILE, "threads = 7")
    found = read_settings()
    assert (found.store, found.threads, found.file) == (store, 7, own)
    assert found.origins["store"] == f"{users}: store"


def test_a_file_that_is_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path / "work" / FILE, "threads = 1")
    monkeypatch.setenv("CPMON_CONFIG", str(tmp_path / "gone.toml"))
    with pytest.raises(CpmonError, match="the settings cannot be read"):
        read_settings()


def test_flags_win_over_variables_and_variables_over_the_file(
    cpmon: Cpmon, perf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = written(tmp_path / "a.toml", 'store = "x"\nthreads = 2\nmemory_limit = "3GB"')
    asked = "select current_setting('threads') as t, current_setting('TimeZone') as z"
    monkeypatch.setenv("CPMON_THREADS", "3")
    monkeypatch.setenv("CPMON_TZ", "Europe/Vienna")

    got = shown(cpmon("config", "show", "--config", file, "--format", "json"))
    assert got["threads"] == ("3", "CPMON_THREADS")
    assert got["memory_limit"] == ("3GB", f"{file}: memory_limit")
    assert got["timezone"] == ("Europe/Vienna", "CPMON_TZ")
    assert got["store"] == (str(tmp_path / "x"), f"{file}: store")
    assert got["classes"] == ("", "default")

    monkeypatch.setenv("CPMON_STORE", str(perf))
    got = shown(cpmon("config", "show", "--config", file, "--threads", 4, "--format", "json"))
    # The fixture of the commands unsets CPMON_STORE only before the first call.
    assert got["threads"] == ("4", "--threads") and got["store"] == (str(perf), "CPMON_STORE")
    got = shown(cpmon("config", "show", "--store", "y", "--format", "json"))
    assert got["store"] == ("y", "--store")
    answer = cpmon("query", asked, "--config", file, "--threads", 1, "--format", "json")
    assert answer.rows == [{"t": 1, "z": "UTC"}]


def test_the_store_and_the_format_come_from_the_settings(cpmon: Cpmon, perf: Path, tmp_path: Path):
    written(tmp_path / "work" / FILE, f'store = "{perf}"\n[formats]\ndefault = "csv"\n')
    assert cpmon("query", "select 1 as a").text == "a\n1\n"
    assert cpmon("query", "select 1 as a", "--format", "jsonl").text == '{"a":1}\n'
    assert cpmon("runs").text.startswith("run_id,")

    written(tmp_path / "work" / FILE, "threads = 1")
    answer = cpmon("query", "select 1 as a")
    assert answer.status is Status.USAGE
    assert "Missing option '--store'" in answer.err and "CPMON_STORE" in answer.err


def test_show_says_which_files_were_passed_over(cpmon: Cpmon, tmp_path: Path):
    written(tmp_path / "work" / FILE, "threads = 1")
    users = written(tmp_path / "home" / "cpmon" / "config.toml", "threads = 2")
    answer = cpmon("config", "show")
    assert answer.err == f"settings: {FILE}\npassed over: {users}\n"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('timezon = "UTC"', "timezon", "did you mean timezone?"),
        ("\n[shift.prime]\ndays = 'mon'", "shift", "did you mean shifts?"),
        ("[shifts.prime]\ndayz = 'mon'", "shifts.prime.dayz", "did you mean days?"),
        ("[shifts]\nprime = 3", "shifts.prime", "a table"),
        ("[shifts.a]\nfrom = '25:00'\nto = '1:0'", "shifts.a.from", "as 08:00"),
        ("[retention]\nintervall = '1d'", "retention.intervall", "did you mean interval?"),
        ("[retention]\nraw = 'long'", "retention.raw", "30d"),
        ("[systems.A]\nzone = 'UTC'", "systems.A.zone", "timezone"),
        ("[systems.A]\nrelease = 'new'", "systems.A.release", "as 7.3"),
        ("[formats]\nquery = 'cvs'", "formats.query", "csv"),
        ("[formats]\nquerry = 'csv'", "formats.querry", "did you mean query?"),
        ("timezone = 'Mars'", "timezone", "IANA"),
        ("timezone = 3", "timezone", "IANA"),
        ("threads = 0", "threads", "from 1 to 1024"),
        ("threads = true", "threads", "from 1 to 1024"),
        ("memory_limit = 'much'", "memory_limit", "as 2GB"),
        ("store = ''", "store", "a text"),
        ("retention = 3", "retention", "a table, as [retention]"),
        ("[exceptions.spin-time]\nlimmit = 1", "spin-time.limmit", "did you mean limit?"),
        ("[exceptions.spin-time]\nshift = 'x'", "spin-time.shift", "there is no shift x"),
        ("[[inbox]]\nfolder = '/a'\n[[inbox]]\nfoldr = '/b'", "inbox[1]", "folder"),
        ("[[inbox]]\nfolder = '/a'\n[batch]\nmetrix = 'm'", "batch.metrix", "metrics"),
        ("not toml", "", "the settings cannot be read"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(
    cpmon: Cpmon, tmp_path: Path, text: str, place: str, said: str
):
    file = written(tmp_path / "a.toml", text)
    answer = cpmon("config", "check", file)
    assert answer.status is Status.USAGE and answer.out == b""
    assert said in answer.err and place in answer.err
    assert not place or str(file) in answer.err


@pytest.mark.parametrize("name", ["THREADS", "MEMORY_LIMIT", "TZ"])
def test_a_variable_that_means_nothing_is_refused_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(f"CPMON_{name}", "nonsense")
    with pytest.raises(CpmonError) as caught:
        read_settings()
    assert caught.value.place == f"CPMON_{name}"


def test_a_right_file_is_told_to_be_right(cpmon: Cpmon, tmp_path: Path):
    answer = cpmon("config", "check", written(tmp_path / "a.toml", WHOLE))
    assert answer.status is Status.DONE and "18 settings, all known" in answer.text


def test_classes_of_the_settings_are_taken_into_the_store(
    cpmon: Cpmon, store_of_two: Path, tmp_path: Path
):
    file = written(tmp_path / "work" / FILE, 'classes = "u.txt"')
    written(file.with_name("u.txt"), "WEB LX*\n")
    assert cpmon("classes", "set", "--store", store_of_two).text == "classes: 1, patterns: 1\n"
    assert (store_of_two / "classes.txt").read_text() == "WEB LX*\n"

    written(file.with_name("u.txt"), "WEB LX* LY*\n")
    cpmon("reduce", "system_config", "--store", store_of_two)
    assert (store_of_two / "classes.txt").read_text() == "WEB LX* LY*\n"


@pytest.fixture
def store_of_two(cpmon: Cpmon, dumps: list[Path], tmp_path: Path) -> Path:
    assert cpmon("ingest", dumps[0], "--store", tmp_path / "store").status is Status.DONE
    return tmp_path / "store"


def test_the_page_names_every_key_and_variable():
    text = DOC.read_text(encoding="utf-8")
    for key in SiteSettings.__struct_fields__:
        headings = (f"[{key}]", f"[[{key}]]", f"[{key}.")
        assert f"| `{key}` |" in text or any(h in text for h in headings), key
        assert f"`{VARIABLES.get(key)}`" in text or key not in VARIABLES
    for table in (SystemSettings, ShiftSettings, RetentionSettings):
        for field in structs.fields(table):
            assert f"`{field.encode_name}`" in text, f"{table.__name__}.{field.encode_name}"
    assert not {
        name
        for name in re.findall(r"^\| `(\w+)` \| `CPMON", text, re.MULTILINE)
        if name not in SiteSettings.__struct_fields__
    }


def test_formats_are_set_for_the_commands_that_have_one():
    def with_format(command: click.Command, name: str, context: click.Context) -> bool:
        if isinstance(command, click.Group):
            inner = (command.get_command(context, one) for one in command.list_commands(context))
            return any(one and with_format(one, name, context) for one in inner)
        known = {parameter.name for parameter in command.params}
        return {"store", "form"} <= known

    context = click.Context(group)
    found = {
        name
        for name in group.list_commands(context)
        if name not in ("config", "schema", "batch", "top")
        if (command := group.get_command(context, name)) and with_format(command, name, context)
    }
    assert found == set(WITH_FORMAT)


def test_settings_as_json_can_be_read_by_programs(cpmon: Cpmon, tmp_path: Path):
    file = written(tmp_path / "a.toml", WHOLE)
    answer = cpmon("config", "show", "--config", file, "--format", "json")
    assert [row["setting"] for row in json.loads(answer.out)][:2] == ["store", "timezone"]
    assert shown(answer)['systems."VM.1".release'][1] == f'{file}: systems."VM.1".release'
