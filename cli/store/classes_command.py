"""`cpmon classes`: user classes of a store."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from ..options import output_options, store_option
from ..output import Output, read_input, say
from ..site_settings import opened, settings, store_at


@click.group("classes")
def command() -> None:
    """Say which users belong together: the classes of USER_CLASS reports and meta.user_class.

    A file has a line for each class, with the user ids that are of it: * stands for any
    characters, ? for one, # begins a comment. The first pattern that matches decides; who is
    matched by none is of class OTHER.

    \b
      WEB    LXWEB* LXFR*
      STAFF  STAFF??? ANNA

    \b
    Examples:
      cpmon classes set uclass.txt --store perf/
      cpmon classes show --store perf/
      cpmon classes of LXWEB001 --store perf/
    """


@command.command("show", short_help="The classes, with their patterns and users.")
@store_option
@output_options
def show(store: Path, out: Output) -> None:
    """The classes of a store: how many of its users are of each, and by which patterns.

    \b
    Example:
      cpmon classes show --store perf/
    """
    from ...store import class_rules

    with opened(store) as connection:
        listing = (files(__package__) / "classes.sql").read_text(encoding="utf-8")
        counted = dict(connection.sql(listing).fetchall())
    patterns: dict[str, list[str]] = {}
    for rule in class_rules(store_at(store)):
        patterns.setdefault(rule.name, []).append(rule.pattern)
    rows = [
        {"class": name, "users": counted.get(name, 0), "patterns": " ".join(patterns.get(name, []))}
        for name in (*patterns, *sorted(counted.keys() - patterns))
    ]
    out.write_rows(rows)


@command.command("set", short_help="Take the classes from a file.")
@store_option
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
def set_(store: Path, file: Path | None) -> None:
    """Take the classes from FILE (- is standard input), in place of those there are.

    Without FILE from the one that the settings name.

    Results that `cpmon reduce` kept are outdated by that, and no longer read.

    \b
    Example:
      cpmon classes set uclass.txt --store perf/
    """
    from ...store import save_classes
    from ...store.measured.classes import read_text

    file = file or settings().classes
    if file is None:
        raise click.UsageError("name the FILE here, or as classes in the settings")
    piped = str(file) == "-"
    text = read_input() if piped else read_text(file)
    rules = save_classes(store_at(store), text, "standard input" if piped else str(file))
    say(f"classes: {len({rule.name for rule in rules})}, patterns: {len(rules)}")


@command.command("of", short_help="The class of a user, and why.")
@store_option
@click.argument("userid")
def of(store: Path, userid: str) -> None:
    """The class of USERID, whether or not the store knows the user, and the line that says so.

    \b
    Example:
      cpmon classes of LXWEB001 --store perf/
    """
    from ...store import class_rules, deciding_rule
    from ...store.measured.classes import OTHER

    rule = deciding_rule(class_rules(store_at(store)), userid)
    why = f"line {rule.line}: {rule.pattern}" if rule else "no pattern matches"
    say(f"{userid.upper()}: {rule.name if rule else OTHER} ({why})")
