"""The runtime of interactive charts: Vega with Vega-Lite, as `vl_convert` bundles it.

A page loads it when a reader first zooms or hides something, from a file beside it or from itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ...core.derived import derived
from ...core.text import for_page
from ...render.html import sha256
from .renderer import bundle

FILE = f"vega-{version('vl-convert-python')}.js"
"""Name of the runtime beside the pages. Other versions of `vl_convert` write another file."""


@cache
def runtime() -> str:
    """The runtime as a script, which may stand in a file or in an element of a page.

    It is always the same for a version of `vl_convert`, and takes seconds to bundle.
    """
    return derived("runtime", str, _bundled, FILE)


def _bundled() -> str:
    # Names of the bundle stay inside; no text in it ends the element that it stands in.
    scripts = bundle().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return for_page(f"(() => {{{scripts}\n}})();\n")


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where a page has the runtime: at a relative address, or in itself as text."""

    address: str = FILE
    text: str = ""

    @property
    def policy(self) -> str:
        """What the content security policy adds to the script of the page.

        A file has no origin, so browsers cannot hold one against a hash, and disagree on what
        'self' is; so scripts from disk are allowed, or from the server that the page came from.
        'strict-dynamic' would let scripts without a hash run that a script puts into the page.
        """
        return f" 'sha256-{sha256(self.text)}'" if self.text else " 'self' file:"


BESIDE = Runtime()
"""The runtime beside the page."""


def write_runtime(folder: Path, write: Callable[[Path, bytes], None]) -> list[Path]:
    """Write the runtime beside pages, unless it is there; returns its file if it was written."""
    file = folder / FILE
    if file.exists():
        return []
    write(file, runtime().encode())
    return [file]
