"""A strict reader of the OpenMetrics text format, as far as cpmon writes it."""

from __future__ import annotations

import re

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.+)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')

Samples = dict[tuple[tuple[str, str], ...], float]


def parsed(text: str) -> dict[str, Samples]:
    """Name of a metric -> labels -> value."""
    assert text.endswith("# EOF\n")
    found: dict[str, Samples] = {}
    family, kind = "", ""
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert kind in ("gauge", "counter") and family not in found
            found[family] = {}
        elif line.startswith(("# UNIT ", "# HELP ")):
            assert line.split(" ")[2] == family
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, line
            name, inside, value = match.groups()
            assert name == (f"{family}_total" if kind == "counter" else family), line
            labels = tuple(_LABEL.findall(inside or ""))
            assert ",".join(f'{k}="{v}"' for k, v in labels) == (inside or "")
            samples = found.setdefault(name, {})
            assert labels not in samples, f"{line} stands twice"
            samples[labels] = float(value)
    return found
