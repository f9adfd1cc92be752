"""Reads a store as docs/store-format.md describes it, with nothing of cpmon."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl


def dumps(store: Path) -> list[dict[str, Any]]:
    lines: dict[str, dict[str, Any]] = {}
    for file in (f for f in store.glob("manifest/*/*/*.json*") if ".results." not in f.name):
        for dump in map(json.loads, file.read_text("utf-8").splitlines()):
            place = f"system={quote(dump['system'], safe='')}/date={dump['landed_on']}"
            folder = dump.setdefault("folder", f"records/{place}/dump={dump['dump']}")
            number = folder.rpartition(".")[2].partition("-")[0] if folder[0] == "m" else 0
            dump["rank"] = int(number), "pruned_at" in dump
            dump["begins"] = min(dump["landed_on"], *dump["days"])
            lines[dump["dump"]] = max(dump, lines.get(dump["dump"], dump), key=lambda d: d["rank"])
    return sorted(lines.values(), key=lambda d: (d["system"], d["begins"], d["dump"]))


def table(store: Path, name: str) -> pl.DataFrame:
    parts = []
    for dump in (dump for dump in dumps(store) if name in dump["tables"]):
        rows = pl.scan_parquet(store / dump["folder"] / f"{name}.parquet", hive_partitioning=False)
        own = {key: pl.lit(dump[key]) for key in ("system", "dump")}
        merged = dump["folder"].startswith("months/")
        parts.append(rows.filter(dump=dump["dump"]) if merged else rows.with_columns(**own))
    return pl.concat(parts, how="diagonal_relaxed").collect()


def result(store: Path, name: str, level: str) -> pl.DataFrame:
    definition = json.loads((store / "reduced/definitions.json").read_text("utf-8"))[name]
    landed, chosen = dumps(store), {}
    for manifest in store.glob("manifest/*/*/*.results.jsonl"):
        for entry in map(json.loads, manifest.read_text("utf-8").splitlines()):
            if (entry["result"], entry["level"]) == (name, level):
                some = [dump for dump in landed if dump["system"] == entry["system"]]
                file = store / entry["file"]
                for day, (version, _) in entry["days"].items():
                    rank = version == version_of(definition, day, some), file.stat().st_mtime, file
                    if rank[0] or any("pruned_at" in d and day in d["days"] for d in some):
                        key = entry["system"], day
                        chosen[key] = max(rank, chosen.get(key, rank))
    counts_to = pl.col("interval_end").dt.offset_by("-1s1us").dt.strftime("%Y-%m-%d")
    parts = [pl.read_parquet(f).filter(counts_to == day) for (_, day), (*_, f) in chosen.items()]
    return pl.concat(parts, how="diagonal_relaxed")


def version_of(definition: str, day: str, dumps: list[dict[str, Any]]) -> str:
    _, is_unknown = min((d["first_end"], not d["first_nominal"]) for d in dumps if d["first_end"])
    needs_all = is_unknown and not all(dump["nominal"] for dump in dumps)
    keys = ("system", "dump", "release", "given_release", "layouts", "cpmon")
    read = [dump for dump in dumps if dump["begins"] <= day or needs_all]
    lineage = "".join(f"{dump.get(key, '')}\0" for dump in read for key in keys)
    parts = definition, blake2b(lineage.encode(), digest_size=8).hexdigest()
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
