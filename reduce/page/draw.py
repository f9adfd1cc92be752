"""Program of the process that draws: requests on standard input, pictures on standard output.

A request is a line of JSON; an answer is a byte, 0 or 1 for a fault, the length of what follows as
8 bytes, and the picture or the text of the fault. `renderer.py` starts it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

DATA = 2 * 2**30
"""Most bytes of data of this process. V8 takes 0.6 GB for the smallest drawing, most of it unused,
and ends its process when it gets no more."""


def answer(request: dict[str, Any]) -> bytes:
    """A picture of a specification, or the bundle of scripts that draws in a browser."""
    import vl_convert

    match request["kind"]:
        case "svg":
            svg: str = vl_convert.vegalite_to_svg(request["spec"])
            return svg.encode()
        case "png":
            png: bytes = vl_convert.vegalite_to_png(request["spec"], scale=2)
            return png
    # What is not ASCII stands in texts, where the escapes of Python are those of JavaScript.
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub errs
    return bundle.encode("ascii", "backslashreplace")


def main() -> None:
    """Answers requests until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent ends this process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # the limit of the parent is for what it does itself
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        data = DATA if most == resource.RLIM_INFINITY else min(DATA, most)
        resource.setrlimit(resource.RLIMIT_DATA, (data, most))
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # whatever a library prints is no answer
        for line in sys.stdin.buffer:
            try:
                fault, made = 0, answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - the parent raises it
                fault, made = 1, str(error).encode(errors="replace")
            out.write(bytes([fault]) + len(made).to_bytes(8) + made)
            out.flush()


if __name__ == "__main__":
    main()
