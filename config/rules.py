"""Rules that a site writes, in layers: those of the settings over the shipped, a file over both.

Rules of exceptions and of validation are read the same way. A file of rules holds nothing but the
table of its kind: `[exceptions.ID]` or `[validation.ID]` for each rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..core.names import unknown
from .document import Document
from .mistakes import Place
from .settings import FILE, Settings


@dataclass(frozen=True, slots=True)
class Layer:
    """Tables of rules from one source, by id; `file` is its name."""

    file: str
    tables: Mapping[str, Mapping[str, Any]]
    place: Place


def rule_layers(kind: str, settings: Settings, file: Path | None) -> list[Layer]:
    """The rules of a site, the weakest layer first.

    Args:
        kind: the table that holds them: "exceptions" or "validation".
        file: one more file of rules, which wins over the settings.

    Raises:
        CpmonError: the file cannot be read, or holds something besides such rules.
    """
    layers = [Layer(str(settings.file or FILE), getattr(settings, kind), settings.place)]
    if file is not None:
        document = Document.load(file, "the rules")
        for key in document.values:
            if key != kind:
                raise unknown("table", key, [kind], place=document.place(key))
        holder: Any = msgspec.defstruct(kind, [(kind, dict[str, dict[str, Any]], {})])
        tables = getattr(document.read(holder, file.parent), kind)
        layers.append(Layer(str(file), tables, document.place))
    return layers
