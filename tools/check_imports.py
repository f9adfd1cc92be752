"""Import directions of the package: `python -m tools.check_imports`, run by `make check`.

Inside the product's folders imports of one's own code are relative, and go one way only (the
table ALLOWED). Ruff cannot see it: the folders are linked into `cpmon`, so to ruff the parent of
a folder is no package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# folder -> folders that it may import. `cli` may import all of them.
ALLOWED: dict[str, frozenset[str]] = {
    "schemas": frozenset(),
    "store": frozenset({"schemas"}),
    "ingest": frozenset({"schemas", "store"}),
    "reduce": frozenset({"schemas", "store"}),
    "queries": frozenset({"schemas", "store"}),
    "batch": frozenset({"schemas", "store", "ingest", "reduce"}),
    "generate": frozenset({"schemas"}),
    "cli": frozenset({"schemas", "store", "ingest", "reduce", "queries", "batch", "generate"}),
}


def complaints(source: str, path: Path) -> Iterator[str]:
    """One line of text for each import that `path` must not have.

    Args:
        source: the module's text.
        path: relative to the repository; its first part names the folder.
    """
    folder, inside = path.parts[0], len(path.parts) - 1
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        elif isinstance(node, ast.ImportFrom):
            targets = _targets(node, inside)
            for target in sorted(targets - ALLOWED[folder] - {folder}):
                yield f"{path}:{node.lineno}: {folder} must not import {target}"
            continue
        else:
            continue
        for module in modules:
            if module.split(".")[0] in {"cpmon", *ALLOWED}:
                yield f"{path}:{node.lineno}: import {module} relatively"


def _targets(node: ast.ImportFrom, inside: int) -> set[str]:
    """Folders that a relative import reaches outside of its own; `inside` is the module's depth."""
    if node.level != inside + 1:
        return set()
    names = [node.module] if node.module else [alias.name for alias in node.names]
    return {name.split(".")[0] for name in names if not name.startswith("__")}


def main() -> int:
    """Print every complaint; 1 if there is one."""
    files = sorted(path for folder in ALLOWED for path in (ROOT / folder).rglob("*.py"))
    found = [
        line
        for path in files
        for line in complaints(path.read_text(encoding="utf-8"), path.relative_to(ROOT))
    ]
    print(*found, f"imports: {len(files)} modules, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
