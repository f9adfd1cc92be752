"""Files that appear only when they are complete, plain or compressed, the same bytes every time."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, Protocol, cast

import pyarrow as pa

from ..core.atomic import replacing

Compression = Literal["none", "gzip", "zstd"]
SUFFIXES: dict[Compression, str] = {"none": "", "gzip": ".gz", "zstd": ".zst"}

Chunk = bytes | memoryview
"""A piece of a dump; a large one is a view of an array, not a copy."""


class DumpSink(Protocol):
    """A destination of the bytes of a dump."""

    def write(self, data: Chunk, /) -> Any:
        """Append bytes."""


@contextmanager
def dump_file(
    path: Path, compression: Compression, finish: Callable[[Path], None] | None = None
) -> Iterator[DumpSink]:
    """Opens a new dump file, which is renamed to its name when the block ends.

    Args:
        finish: called with the file as it was written, before it is renamed.
    """
    with replacing(path) as part:
        with part.open("wb") as raw:
            if compression == "gzip":
                # Neither name nor time in the header, so that the same dump is the same file.
                with gzip.GzipFile("", "wb", 6, raw, mtime=0) as f:
                    yield cast(DumpSink, f)
            elif compression == "zstd":
                yield _Zstd(raw)
            else:
                yield raw
        if finish is not None:
            finish(part)


class _Zstd:
    """Writes one zstd frame for each chunk; decompressors read concatenated frames."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._codec = pa.Codec("zstd", compression_level=9)

    def write(self, data: Chunk, /) -> None:
        self._raw.write(self._codec.compress(data, asbytes=True))


def write_text(path: Path, text: str) -> None:
    """A small text file."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
