"""User classes: which users belong together, by patterns of their user ids.

`classes.txt` in a store is a text file in the manner of UCLASS files:

  # class  user ids: * stands for any characters, ? for one
  WEB      LXWEB* LXFR*
  STAFF    STAFF??? ANNA
  WEB      OLDWEB

The first pattern that matches decides, in the order of the file. A user that none matches is of
class OTHER. Upper or lower case is all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import CpmonError
from ..dumps.store import Store

FILE = "classes.txt"
OTHER = "OTHER"
LONGEST = 8
"""Characters of a user id."""

_LIKE = str.maketrans({"*": "%", "?": "_", "%": "^%", "_": "^_", "^": "^^"})
_USERID = re.compile(r"[A-Z0-9@#$_\-:.?*+]+")


@dataclass(frozen=True, slots=True)
class ClassRule:
    """One pattern. `line` is that of the file, counted from 1."""

    position: int
    name: str
    pattern: str
    line: int

    @property
    def like(self) -> str:
        """The pattern for LIKE ... ESCAPE '^'."""
        return like_pattern(self.pattern)

    def matches(self, userid: str) -> bool:
        """Whether a user id, in capitals, is one of those that are meant."""
        parts = (re.escape(part).replace(r"\?", ".") for part in self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), userid) is not None


def like_pattern(pattern: str) -> str:
    """The pattern for LIKE ... ESCAPE '^' of one in which * is any text and ? a character."""
    return pattern.translate(_LIKE)


def class_sql(rules: Sequence[ClassRule], column: str) -> tuple[str, list[str]]:
    """The class of the user in a column, as SQL, and the values of its parameters.

    Args:
        column: as SQL.
    """
    if not rules:
        return "?", [OTHER]
    branches = " ".join(f"WHEN {column} LIKE ? ESCAPE '^' THEN ?" for _ in rules)
    values = [value for rule in rules for value in (rule.like, rule.name)]
    return f"CASE {branches} ELSE ? END", [*values, OTHER]


def classes_text(store: Store) -> str:
    """The file of a store as it is; empty if there is none.

    Raises:
        CpmonError: it cannot be read.
    """
    try:
        return store.files.read(FILE).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError(
            "the classes of the store cannot be read",
            code="classes-damaged",
            place=store.files.uri(FILE),
            expected="text in UTF-8",
            found=str(error),
            effect="there is no answer",
            remedy="write them again: cpmon classes set FILE",
        ) from None


def read_text(file: Path) -> str:
    """A file of classes as text.

    Raises:
        CpmonError: it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError("the classes cannot be read", place=str(file), found=str(error)) from None


def class_rules(store: Store) -> tuple[ClassRule, ...]:
    """The rules of a store, none if it has no classes.

    Raises:
        CpmonError: the file cannot be read, or a line of it is wrong.
    """
    return parse_classes(classes_text(store), store.files.uri(FILE))


def parse_classes(text: str, place: str) -> tuple[ClassRule, ...]:
    """The rules of a file.

    Args:
        text: the file; `place` names it in errors.

    Raises:
        CpmonError: a class without users, or what can be no user id.
    """
    rules: list[ClassRule] = []
    for number, line in enumerate(text.splitlines(), start=1):
        # "#" may be part of a user id: a comment begins the line or stands behind a blank.
        words = re.sub(r"(^|\s)#(\s.*|$)|^#.*", "", line).upper().split()
        if not words:
            continue
        name, *patterns = words
        if not patterns:
            raise CpmonError(
                f"class {name} has no users",
                place=f"{place}, line {number}",
                expected="CLASS PATTERN [PATTERN...]",
                found=line.strip(),
            )
        for pattern in patterns:
            _check(pattern, f"{place}, line {number}")
            rules.append(ClassRule(len(rules) + 1, name, pattern, number))
    return tuple(rules)


def deciding_rule(rules: Sequence[ClassRule], userid: str) -> ClassRule | None:
    """The rule that says which class a user is of; None for class OTHER."""
    return next((rule for rule in rules if rule.matches(userid.upper())), None)


def save_classes(store: Store, text: str, place: str) -> tuple[ClassRule, ...]:
    """Replace the classes of a store; what was reduced with the ones before is outdated.

    Args:
        text: the new file, kept as it is. place: names it in errors.

    Returns:
        Its rules.

    Raises:
        CpmonError: a line is wrong; then nothing is replaced.
    """
    rules = parse_classes(text, place)
    store.clean()
    store.files.replace(FILE, text.encode())
    return rules


def import_classes(store: Store, file: Path) -> bool:
    """Replace the classes of a store by those of a file; False if they are the same already.

    Raises:
        CpmonError: the file cannot be read, or a line is wrong; then nothing is replaced.
    """
    text = read_text(file)
    if text == classes_text(store):
        return False
    save_classes(store, text, str(file))
    return True


def _check(pattern: str, place: str) -> None:
    if len(pattern.replace("*", "")) > LONGEST or not _USERID.fullmatch(pattern):
        raise CpmonError(
            "a pattern matches no user id",
            place=place,
            expected=f"at most {LONGEST} letters, digits and @#$_-:.+, with * and ? as wildcards",
            found=pattern,
            effect="no class was changed",
        )
