"""Import directions: who may import whom, and only relatively."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_imports


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("reduce/tables.py", "from ..schemas.layout import Layout"),
        ("reduce/tables.py", "from .. import schemas, __version__"),
        ("reduce/tables.py", "from . import ingest"),
        ("store/sql/views.py", "from ..ingest import x"),
        ("cli/main.py", "from ..ingest import landing"),
        ("ingest/codec.py", "import numpy as np"),
    ],
)
def test_imports_along_the_table_pass(path: str, source: str):
    assert list(check_imports.complaints(source, Path(path))) == []


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("generate/loading.py", "from ..ingest import index", "generate must not import ingest"),
        ("schemas/layout.py", "from .. import store", "schemas must not import store"),
        ("store/sql/views.py", "from ...reduce import x", "store must not import reduce"),
        ("reduce/tables.py", "from cpmon.schemas import x", "import cpmon.schemas relatively"),
        ("reduce/tables.py", "import schemas.layout", "import schemas.layout relatively"),
    ],
)
def test_imports_against_the_table_are_named(path: str, source: str, said: str):
    assert list(check_imports.complaints(source, Path(path))) == [f"{path}:1: {said}"]


CIRCLES = {
    "at the top": {"a/x.py": "from .y import Y", "a/y.py": "from . import x"},
    "of types": {
        "a/x.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .y import Y",
        "a/y.py": "from .x import X",
    },
    "inside a function": {
        "a/x.py": "def f():\n    from .b import y",
        "a/b/y.py": "from ..x import X",
    },
    "through a package": {"a/__init__.py": "from .x import X", "a/x.py": "from . import NAME"},
    "of three": {
        "a/x.py": "from .y import Y",
        "a/y.py": "from .z import Z",
        "a/z.py": "from .x import X",
    },
    "of one with itself": {"a/x.py": "from .x import X"},
}


@pytest.mark.parametrize("sources", CIRCLES.values(), ids=CIRCLES.keys())
def test_an_import_circle_is_named(sources: dict[str, str]):
    (line,) = check_imports.circles({Path(path): text for path, text in sources.items()})
    assert line.startswith("import circle: ")
    modules = [path.removesuffix(".py").removesuffix("/__init__") for path in sources]
    assert all(module in line for module in modules)


def test_a_circle_of_packages_is_named_though_no_modules_make_one():
    sources = {
        Path("a/b/x.py"): "from ..c import y",
        Path("a/b/z.py"): "",
        Path("a/c/y.py"): "from ..b import z",
    }
    assert list(check_imports.circles(sources)) == []
    (line,) = check_imports.circles(sources, depth=2)
    assert "a/b" in line and "a/c" in line


def test_imports_one_way_are_no_circle():
    sources = {
        "a/__init__.py": "from .b.y import Y",
        "a/x.py": "import numpy\nfrom ..other import thing",
        "a/b/__init__.py": "from .z import Z",
        "a/b/y.py": "from ..x import X\nfrom . import z",
        "a/b/z.py": "from ..x import X",
    }
    by_path = {Path(path): text for path, text in sources.items()}
    assert [*check_imports.circles(by_path), *check_imports.circles(by_path, depth=2)] == []
