"""Finds where SQL of people becomes `UserSql`, and who looks at its text: make check.

`UserSql` is no text, so only `unchecked` could put it into a statement. Each module that reads that
attribute is listed here with its reason; each that takes a text for SQL of people is tried by
tests/safety/test_escapes.py. SQL of a site comes in through `Definitions`, settings and options.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "cpmon"
MAY_LOOK = {
    "core/sql.py": "defines it",
    "store/sandbox/guard.py": "checks it, and writes it again from the tree",
    "reduce/reports/narrowing.py": "names a condition in a message",
    "reduce/rules/rule.py": "looks for names of tables; what is shipped runs as it is",
}
GUARD = "store/sandbox/guard.py"
TAKES = {"UserSql"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Path below the package, and tree, of each module of the product."""
    for folder in sorted(PACKAGE.iterdir()):
        for file in sorted(folder.resolve().rglob("*.py")) if folder.is_dir() else [folder]:
            if file.suffix == ".py":
                name = str(file.resolve().relative_to(ROOT))
                yield name, ast.parse(file.read_text(encoding="utf-8"))


def taken() -> set[str]:
    """The modules that take a text for SQL of people, or read it from a file of theirs."""
    return {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in TAKES
        and name != GUARD
    }


def mistakes() -> Iterator[str]:
    """Yields each place that looks at SQL of people without a reason."""
    looking = set()
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "unchecked":
                looking.add(name)
                if name not in MAY_LOOK:
                    yield f"{name}:{node.lineno}: SQL of people as text; see store/sandbox/guard.py"
    for name in sorted(MAY_LOOK.keys() - looking):
        yield f"tools/check_user_sql.py: {name} does not look at SQL of people"


def main() -> int:
    """The status is 1 if there are mistakes."""
    found = [*mistakes()]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
