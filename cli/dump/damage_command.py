"""`cpmon damage`: a damaged copy of a dump."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..options import dump_argument, listing_option
from .dump_output import dump_input, dump_output, output_option

if TYPE_CHECKING:
    from ...generate import Damage
    from ...ingest.container.source import Source

PIECE = 4 * 1024 * 1024


def _kinds() -> Iterator[str]:
    from ...generate.damage.kinds import KINDS

    for kind in KINDS.values():
        place = ":PLACE" if kind.placed else ":" if kind.count is not None else ""
        count = ":COUNT" if kind.count is not None else ""
        usual = f" COUNT: {kind.counts}, {kind.count} by default." if count else ""
        yield f"{kind.name + place + count:<32} {kind.meaning}{usual}"


@click.command("damage")
@listing_option("Name the kinds of damage.", _kinds)
@dump_argument
@click.argument("kinds", nargs=-1, required=True, metavar="KIND[:PLACE[:COUNT]]...")
@output_option
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Picks places and bits not named."
)
def command(dump: Path, kinds: tuple[str, ...], output: Path, seed: int) -> None:
    """Write a copy of DUMP, any input that can be ingested, with damage of each KIND.

    To see what a batch, a store or a report makes of broken dumps before one arrives. Several
    kinds are done one after the other, each to what the one before left. --list explains them.

    PLACE is a byte of the decompressed dump (5000, 0x1388), bytes before its end (-100), or a
    share of it (50%); the frame, record or control record there or behind is damaged. Without it
    the seed picks a place in the first half. COUNT says how much.

    \b
    Examples:
      cpmon damage day.mon.gz truncate:50% -o cut.mon
      cpmon damage day.mon zero-frames:0x100000:16 control-missing:70% -o holes.mon.gz
      cpmon damage day.mon to-ascii line-ends -o text.mon
      cpmon damage day.mon cut-compressed:-1000 -o cut.mon.gz
    """
    from ...generate import damaged, parse_damage
    from ...generate.damage.requests import check_compressed, cut_file

    damage = [parse_damage(kind) for kind in kinds]
    check_compressed(damage, compressed=output.suffix in {".gz", ".zst"})
    with (
        dump_input(dump, "auto", "damaging") as (source, progress),
        dump_output(output, lambda file: cut_file(file, damage, seed)) as sink,
    ):
        for piece in damaged(_pieces(source), damage, seed, _size(dump, damage)):
            sink.write(piece)
            progress(source)


def _pieces(source: Source) -> Iterator[bytes]:
    room = memoryview(bytearray(PIECE))
    while not source.ended and (size := source.readinto(room)):
        yield bytes(room[:size])


def _size(dump: Path, damage: list[Damage]) -> int | None:
    """Size of the decompressed dump, if some damage needs it; compressed dumps are read for it."""
    from ...ingest.container.source import open_source

    if not any(kind.needs_size for kind in damage) or not dump.is_file():
        return None
    with open_source(dump) as source:
        if source.compression == "none":
            return source.stored_size
        return sum(map(len, _pieces(source)))
