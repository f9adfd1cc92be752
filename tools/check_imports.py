"""Import directions of the package: `python -m tools.check_imports`, run by `make check`.

Inside the product's folders imports of one's own code are relative, and go one way only (the
table ALLOWED). Ruff cannot see it: the folders are linked into `cpmon`, so to ruff the parent of
a folder is no package. The modules of the folders in ACYCLIC import each other without a circle;
imports of types and imports inside functions count. So do their packages.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# folder -> folders that it may import. `cli` may import all of them.
ALLOWED: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "schemas": frozenset({"core"}),
    "config": frozenset({"core", "schemas"}),
    "render": frozenset({"core", "config"}),
    "jobs": frozenset({"core"}),
    "store": frozenset({"core", "schemas", "config"}),
    "ingest": frozenset({"core", "schemas", "store"}),
    "reduce": frozenset({"core", "schemas", "config", "render", "jobs", "store"}),
    "queries": frozenset({"core", "config", "schemas", "store"}),
    "spark": frozenset({"core", "schemas", "config", "jobs", "store", "reduce"}),
    "batch": frozenset({"core", "schemas", "config", "render", "store", "ingest", "reduce"}),
    "generate": frozenset({"core", "schemas", "config"}),
    "serve": frozenset({"api", "core", "config", "render", "store", "reduce", "queries"}),
    "api": frozenset(
        {"core", "schemas", "config", "render", "store", "ingest", "reduce", "queries"}
    ),
    # Programs of users: they import `cpmon`, its public interface, alone.
    "notebooks": frozenset(),
    "cli": frozenset(
        {
            *("core", "schemas", "config", "store", "ingest", "reduce", "queries", "spark"),
            *("render", "jobs", "batch", "generate", "serve", "api"),
        }
    ),
}

# Folders whose modules and packages must not import each other in a circle.
ACYCLIC = (
    "api",
    "batch",
    "cli",
    "config",
    "core",
    "generate",
    "ingest",
    "reduce",
    "schemas",
    "serve",
    "spark",
    "store",
)


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
            if folder == "notebooks" and module == "cpmon":
                continue
            if module.split(".")[0] in {"cpmon", *ALLOWED}:
                yield f"{path}:{node.lineno}: import {module} relatively"


def _targets(node: ast.ImportFrom, inside: int) -> set[str]:
    """Folders that a relative import reaches outside of its own; `inside` is the module's depth."""
    if node.level != inside + 1:
        return set()
    names = [node.module] if node.module else [alias.name for alias in node.names]
    return {name.split(".")[0] for name in names if not name.startswith("__")}


def circles(sources: Mapping[Path, str], depth: int | None = None) -> Iterator[str]:
    """One line of text if modules import each other in a circle.

    Args:
        sources: text of each module of a folder, by its path relative to the repository.
        depth: parts of the names that count, so that the modules of a package are taken together:
            `a.b.c` and `a.b.d` are `a.b` at depth 2.
    """
    names = {_module(path) for path in sources}
    graph: dict[str, set[str]] = {}
    for path, text in sources.items():
        module = _module(path)
        node = _shortened(module, depth)
        targets = {_shortened(name, depth) for name in _imported(text, path, names)}
        graph.setdefault(node, set()).update(targets - {node} if depth else targets)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " -> ".join(name.replace(".", "/") for name in reversed(error.args[1]))
        yield f"import circle: {circle}"


def _shortened(name: str, depth: int | None) -> str:
    return ".".join(name.split(".")[:depth])


def _module(path: Path) -> str:
    """Dotted name of a module or package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(source: str, path: Path, names: Collection[str]) -> Iterator[str]:
    """Modules among `names` that a module imports relatively.

    `from . import x` imports the module x, where there is one, or a name of the package.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        base = path.parts[: len(path.parts) - node.level]
        target = ".".join([*base, node.module] if node.module else base)
        for alias in node.names:
            name = f"{target}.{alias.name}"
            name = name if name in names else target
            if name in names:
                yield name


def main() -> int:
    """Print every complaint; 1 if there is one."""
    files = sorted(path for folder in ALLOWED for path in (ROOT / folder).rglob("*.py"))
    sources = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in files}
    found = [line for path, source in sources.items() for line in complaints(source, path)]
    for folder in ACYCLIC:
        modules = {path: text for path, text in sources.items() if path.parts[0] == folder}
        found += [*circles(modules), *circles(modules, depth=2)]
    print(*found, f"imports: {len(files)} modules, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
