"""The page of `cpmon doctor`, as text or Markdown, made of its JSON document."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

HIDDEN = "not shown; --names shows it"
WIDTH = 96


def page(documents: Iterable[dict[str, Any]], form: str) -> bytes:
    """The pages of several inputs below each other."""
    return "\n".join(_Page(document, form == "markdown").text for document in documents).encode()


class _Page:
    """Lines in one of two spellings."""

    def __init__(self, document: dict[str, Any], is_markdown: bool) -> None:
        self._markdown = is_markdown
        self._lines: list[str] = []
        self._head(f"cpmon doctor: {document['input']['file']}", 1)
        self._say(_verdict(document))
        self._head("Input")
        self._facts(_input_facts(document))
        if "refused" in document:
            self._refused(document["refused"])
        else:
            self._dump(document)
        self._head("What to do next")
        self._code(document["commands"])

    @property
    def text(self) -> str:
        """The whole page."""
        return "\n".join(self._lines) + "\n"

    def _refused(self, error: dict[str, Any]) -> None:
        self._head("Why it cannot be read")
        parts = {**error, "found": error["found"] or HIDDEN}
        self._facts((name, text) for name, text in parts.items() if text)

    def _dump(self, document: dict[str, Any]) -> None:
        self._head("Dump")
        self._facts(_dump_facts(document["dump"], document))
        self._head("Findings")
        if not document["findings"]:
            self._say("None: every record and every value that is checked makes sense.")
        for finding in document["findings"]:
            self._say(
                f"{finding['severity']}: {finding['code']} x {finding['count']:,}. "
                f"{finding['meaning']} {finding['remedy']}",
                finding["details"],
            )
        self._head("Records")
        self._table(
            {**row, "known_bytes": row["known_bytes"], "name": row["name"] or "?"}
            for row in document["records"]
        )
        self._head("Reports")
        for report in document["reports"]:
            self._say(f"{report['report']}: {report['outcome']}", report["notes"])
        self._head("Pages to bring")
        if not document["pages"]:
            self._say("None.")
            return
        release = document["dump"]["release"]
        self._say(
            f"IBM's record pages of {f'z/VM {release}' if release else 'the release'}, saved as "
            "HTML or text in one folder. Those that reports read come first."
        )
        self._table(
            {
                "page": row["page"] or "by IBM's list of records",
                "record": row["record"],
                "why": row["why"],
                "reports": _few(row["reports"]),
            }
            for row in document["pages"]
        )

    # Lines.

    def _head(self, text: str, level: int = 2) -> None:
        if self._lines:
            self._lines.append("")
        if self._markdown:
            self._lines += [f"{'#' * level} {text}", ""]
        else:
            self._lines += [text, ("=" if level == 1 else "-") * len(text)]

    def _say(self, text: str, details: Iterable[str] = ()) -> None:
        """A paragraph, or a point of a list with its details."""
        lines = [*textwrap.wrap(text, WIDTH)]
        for detail in details:
            lines += textwrap.wrap(detail, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        self._lines += [f"- {lines[0]}", *lines[1:]] if self._markdown and details else lines

    def _facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        for name, text in pairs:
            if self._markdown:
                self._lines.append(f"- {name}: {text}")
            else:
                self._lines += textwrap.wrap(
                    f"{name:<15} {text}", WIDTH, subsequent_indent=" " * 16
                )

    def _table(self, rows: Iterable[dict[str, Any]]) -> None:
        import pyarrow as pa

        from ...reduce.render.render import render

        form = "markdown" if self._markdown else "table"
        table = pa.Table.from_pylist(list(rows))
        self._lines += render(table, form).decode().rstrip("\n").split("\n")

    def _code(self, commands: Iterable[str]) -> None:
        self._lines += [f"    {command}" for command in commands]


def _few(names: list[str]) -> str:
    """At most three names, and how many others there are."""
    more = len(names) - 2
    return ", ".join([*names[:2], f"{more} others"] if more > 1 else names)


def _verdict(document: dict[str, Any]) -> str:
    if refused := document.get("refused"):
        return f"cpmon cannot read it: {refused['problem']}."
    counts = Counter(report["outcome"] for report in document["reports"])
    reports = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    return f"cpmon can read it. Of {counts.total()} reports: {reports}."


def _input_facts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    stored = document["input"]
    size = stored["stored_bytes"]
    yield "file", stored["file"]
    yield "size", f"{size:,} bytes" if size is not None else "not known: a pipe"
    if stored["sha256"]:
        yield "sha256", stored["sha256"]
    around = [*stored["wrapping"][::-1], stored["compression"]]
    wrapped = " in ".join(word for word in around if word != "none")
    yield "wrapped", f"{wrapped or 'in nothing'}; {stored['container'] or 'no known container'}"
    if stored["content"]:
        yield "content", f"{stored['content']}, its name in a store"
    own = ", and those of CPMON_SCHEMAS" if document["own_layouts"] else ""
    yield "layouts", f"those of cpmon {document['cpmon']}{own}"


def _dump_facts(dump: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    parts = ", ".join(f"{n:,} {name}" for name, n in dump["bytes"].items() if name != "size")
    yield "bytes", f"{dump['bytes']['size']:,}: {parts}"
    hidden = HIDDEN if dump["system_named"] else "not named in the dump"
    yield "system", dump["system"] or hidden
    yield "release", f"z/VM {dump['release']}" if dump["release"] else "not named in the dump"
    yield "span", f"{dump['first']} to {dump['last']} UTC" if dump["first"] else "none"
    length = f" of {dump['interval_s']:g} s" if dump["interval_s"] else ""
    yield "intervals", f"{dump['intervals']:,}{length}; gaps: {dump['gaps']}; IPLs: {dump['ipls']}"
    if dump["processors"]:
        yield "processors", f"{dump['processors']:g}, or so many threads (0.2 in an interval)"
    yield "multithreading", MULTITHREADED[dump["can_multithread"], dump["shows_multithreading"]]
    states = Counter(record["state"] for record in document["records"])
    yield "record types", ", ".join(f"{n} {state}" for state, n in states.most_common()) or "none"


OLDER, UNKNOWN = "not possible before z/VM 6.3.0", "not known, as the release is not"
MULTITHREADED = {
    (None, False): UNKNOWN,
    (None, True): UNKNOWN,
    (False, False): OLDER,
    (False, True): OLDER,
    (True, False): "possible; no known layout tells whether it is on",
    (True, True): "possible; SYSTEM_CONFIG shows whether it is on",
}
