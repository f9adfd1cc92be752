"""Rebuild the sample dumps from their recipes: `python -m tools.make_samples [--check]`.

The recipes stand in `sample-data/manifest.toml`. Without `--check` the dumps, their run files and
companions are written and their sizes and hashes put into the manifest; with it they are built in
a temporary folder and compared with what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cpmon.generate import Compression, load_scenario, write_run

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample-data"
MANIFEST = SAMPLES / "manifest.toml"


@dataclass(frozen=True, slots=True)
class Sample:
    """One recipe of the manifest and what came of it."""

    folder: str
    scenario: str
    run: str
    intervals: int
    seed: int
    compression: Compression
    purpose: str
    bytes: int
    sha256: str

    def build(self, root: Path) -> list[Path]:
        """Write the sample's files below a folder; the dump comes first."""
        written = write_run(
            load_scenario(self.scenario),
            self.run,
            root / self.folder,
            intervals=self.intervals,
            seed=self.seed,
            compression=self.compression,
        )
        return [written.dump, written.run_file, *written.companions]


def samples(manifest: Path = MANIFEST) -> list[Sample]:
    """The recipes, in the order of the manifest."""
    return [Sample(**row) for row in tomllib.loads(manifest.read_text("utf-8"))["sample"]]


def digest(file: Path) -> tuple[int, str]:
    """Size and sha256 of a file."""
    content = file.read_bytes()
    return len(content), hashlib.sha256(content).hexdigest()


def differences(root: Path = SAMPLES) -> list[str]:
    """What is not as its recipe makes it: one line a file, none when all is well."""
    found = []
    for sample in samples():
        with tempfile.TemporaryDirectory() as folder:
            built = sample.build(Path(folder))
            if digest(built[0]) != (sample.bytes, sample.sha256):
                found.append(f"{built[0].name}: the manifest has another size or sha256")
            for file in built:
                shipped = root / sample.folder / file.name
                if not shipped.is_file():
                    found.append(f"{shipped.relative_to(root)}: missing")
                elif shipped.read_bytes() != file.read_bytes():
                    found.append(f"{shipped.relative_to(root)}: differs from its recipe")
    return found


def rebuild(root: Path = SAMPLES, manifest: Path = MANIFEST) -> list[str]:
    """Write all samples, note size and hash of each dump; one line about each."""
    text, lines = manifest.read_text("utf-8"), []
    head, *blocks = re.split(r"(?m)^(?=\[\[sample\]\]$)", text)
    for place, sample in enumerate(samples(manifest)):
        dump = sample.build(root)[0]
        size, sha256 = digest(dump)
        block = re.sub(r"(?m)^bytes = .*$", f"bytes = {size}", blocks[place])
        blocks[place] = re.sub(r"(?m)^sha256 = .*$", f'sha256 = "{sha256}"', block)
        lines.append(f"{dump.relative_to(root)}: {size:,} bytes, {sha256[:12]}")
    manifest.write_text(head + "".join(blocks), "utf-8", newline="\n")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if not parser.parse_args(arguments).check:
        print("\n".join(rebuild()))
        return 0
    found = differences()
    print("\n".join(found) or "all samples are as their recipes make them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
