"""The explanation of a span: the only place of the server that knows how one is made."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import duckdb

from ..config import Settings
from ..config.moments import find_zone
from ..reduce.explain import explain, render_explanation
from ..render.html import with_link
from .addresses import SPAN, WINDOW, chosen_window, span

MOST = 30
"""Lines of an explanation."""


def explained_page(
    con: duckdb.DuckDBPyConnection, chosen: Mapping[str, str], settings: Settings
) -> bytes:
    """The page of what was different in the span of an address, which leads back to its charts.

    Raises:
        CpmonError: nothing was measured in that span, or a name is unknown.
    """
    since, until = span(chosen)
    window = chosen_window(con, chosen, since, until)
    zone = find_zone(settings.zone(window.system))
    explanation = explain(
        con,
        run=window.run_id,
        system=window.system,
        since=since or window.first,
        until=until or window.last,
        zone=zone,
        settings=settings,
    )
    page = render_explanation(explanation, "html", zone, MOST)
    whose = {name: chosen[name] for name in WINDOW if name in chosen and name not in SPAN}
    times = "&".join(
        f"{name}={time:%Y-%m-%dT%H:%M:%SZ}"
        for name, time in (("from", window.first), ("to", window.last))
    )
    return with_link(page, "charts of this span", f"page?{urlencode(whose)}#{times}")
