"""User classes: groups of users, defined by patterns of their user ids.

`classes.txt` in a store is a text file in the style of UCLASS files:

  # class  user ids: * stands for any characters, ? for one
  WEB      LXWEB* LXFR*
  STAFF    STAFF??? ANNA
  WEB      OLDWEB

The first matching pattern, in file order, decides. A user that no pattern matches is of class
OTHER. Upper and lower case are equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import CpmonError
from ..format.store import Store

FILE = "classes.txt"
OTHER = "OTHER"
LONGEST = 8
"""Maximum length of a user id, in characters."""

_LIKE = str.maketrans({"*": "%", "?": "_", "%": "^%", "_": "^_", "^": "^^"})
_USERID = re.compile(r"[A-Z0-9@#$_\-:.?*+]+")


@dataclass(frozen=True, slots=True)
class ClassRule:
    """One pattern of a class. `position` orders the rules; `line` is its line, from 1."""

    position: int
    name: str
    pattern: str
    line: int

    @property
    def like(self) -> str:
        """The pattern for LIKE ... ESCAPE '^'."""
        return like_pattern(self.pattern)

    def matches(self, userid: str) -> bool:
        """Whether the pattern matches a user id, given in upper case."""
        parts = (re.escape(part).replace(r"\?", ".") for part in self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), userid) is not None


def like_pattern(pattern: str) -> str:
    """Converts a pattern with * and ? into one for LIKE ... ESCAPE '^'."""
    return pattern.translate(_LIKE)


def class_sql(rules: Sequence[ClassRule], column: str) -> tuple[str, list[str]]:
    """SQL expression of the class of a user, and the values of its parameters.

    Args:
        column: SQL expression of the user id.
    """
    if not rules:
        return "?", [OTHER]
    branches = " ".join(f"WHEN {column} LIKE ? ESCAPE '^' THEN ?" for _ in rules)
    values = [value for rule in rules for value in (rule.like, rule.name)]
    return f"CASE {branches} ELSE ? END", [*values, OTHER]


def classes_text(store: Store) -> str:
    """The text of the class file of a store; empty if there is none."""
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
            effect="the query was not run",
            remedy="write them again: cpmon classes set FILE",
        ) from None


def read_text(file: Path) -> str:
    """The text of a class file.

    Raises:
        CpmonError: the file cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError("the classes cannot be read", place=str(file), found=str(error)) from None


def class_rules(store: Store) -> tuple[ClassRule, ...]:
    """The class rules of a store; empty if it has no classes.

    Raises:
        CpmonError: the file cannot be read, or a line is invalid.
    """
    return parse_classes(classes_text(store), store.files.uri(FILE))


def parse_classes(text: str, place: str) -> tuple[ClassRule, ...]:
    """Parses the rules of a class file.

    Args:
        text: content of the file.
        place: name of the file in errors.

    Raises:
        CpmonError: a class has no users, or a pattern can match no user id.
    """
    rules: list[ClassRule] = []
    for number, line in enumerate(text.splitlines(), start=1):
        # "#" may be part of a user id: a comment starts the line or follows a blank.
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
    """The rule that decides the class of a user; None for class OTHER."""
    return next((rule for rule in rules if rule.matches(userid.upper())), None)


def save_classes(store: Store, text: str, place: str) -> tuple[ClassRule, ...]:
    """Replaces the classes of a store; outdates the results of reductions that read them.

    Args:
        text: the new content, stored unchanged.
        place: name of the file in errors.

    Returns:
        The new rules.

    Raises:
        CpmonError: a line is invalid; nothing is replaced.
    """
    rules = parse_classes(text, place)
    store.clean()
    store.files.replace(FILE, text.encode())
    return rules


def import_classes(store: Store, file: Path) -> bool:
    """Replaces the classes of a store by those of a file; False if they are already the same.

    Raises:
        CpmonError: the file cannot be read, or a line is invalid; nothing is replaced.
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
