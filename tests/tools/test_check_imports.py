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
        ("generate/model.py", "from ..ingest import index", "generate must not import ingest"),
        ("schemas/layout.py", "from .. import store", "schemas must not import store"),
        ("store/sql/views.py", "from ...reduce import x", "store must not import reduce"),
        ("reduce/tables.py", "from cpmon.schemas import x", "import cpmon.schemas relatively"),
        ("reduce/tables.py", "import schemas.layout", "import schemas.layout relatively"),
    ],
)
def test_imports_against_the_table_are_named(path: str, source: str, said: str):
    assert list(check_imports.complaints(source, Path(path))) == [f"{path}:1: {said}"]


def test_the_modules_of_the_project_keep_to_the_table():
    assert check_imports.main() == 0
