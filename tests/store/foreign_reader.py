"""Reads a store as docs/store-format.md describes it, with nothing of cpmon."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl


def entries(store: Path, kind: str) -> Any:
    for folder in {file.parent for file in store.glob("manifest/**/*.json*")}:
        states = ["{}", *(f.read_text("utf-8") for f in sorted(folder.glob(f"{kind}.*.jsonl")))]
        head, *found = map(json.loads, states[-1].splitlines())
        yield from found
        for file in folder.glob("*.json") if kind == "dumps" else ():
            dump, number = file.stem.rsplit(".", 1)
            is_later = int(number) >= head.get("dropped", {}).get(dump, 0)
            if is_later and dump not in {entry["dump"] for entry in found}:
                yield json.loads(file.read_text("utf-8"))


def dumps(store: Path) -> list[dict[str, Any]]:
    found = [{**d, "begins": min(d["landed_on"], *d["days"])} for d in entries(store, "dumps")]
    return sorted(found, key=lambda d: (d["system"], d["begins"], d["dump"]))


def table(store: Path, name: str) -> pl.DataFrame:
    parts = []
    for dump in (dump for dump in dumps(store) if name in dump["tables"]):
        rows = pl.scan_parquet(store / dump["folder"] / f"{name}.parquet", hive_partitioning=False)
        if dump["folder"].startswith("records/"):
            rows = rows.with_columns(system=pl.lit(dump["system"]), dump=pl.lit(dump["dump"]))
        parts.append(rows.filter(dump=dump["dump"]))
    return pl.concat(parts, how="diagonal_relaxed").collect()


def result(store: Path, name: str, level: str) -> pl.DataFrame:
    definition = json.loads((store / "reduced/definitions.json").read_text())[name]
    landed, chosen, old = dumps(store), {}, {}
    for entry in entries(store, "results"):
        if (entry["result"], entry.get("level")) == (name, level):
            some = [dump for dump in landed if dump["system"] == entry["system"]]
            for day, (version, _) in entry["days"].items():
                is_current = version == version_of(definition, day, some)
                if is_current or any("pruned_at" in d and day in d["days"] for d in some):
                    (chosen if is_current else old)[entry["system"], day] = store / entry["file"]
    counts_to = pl.col("interval_end").dt.offset_by("-1s1us").dt.strftime("%Y-%m-%d")
    parts = [pl.read_parquet(f).filter(counts_to == d) for (_, d), f in (old | chosen).items()]
    return pl.concat(parts, how="diagonal_relaxed")


def version_of(definition: str, day: str, dumps: list[dict[str, Any]]) -> str:
    _, is_unknown = min((d["first_end"], not d["first_nominal"]) for d in dumps if d["first_end"])
    needs_all = is_unknown and not all(dump["nominal"] for dump in dumps)
    keys = ("system", "dump", "release", "given_release", "layouts", "cpmon")
    read = [d.get(key, "") for d in dumps if d["begins"] <= day or needs_all for key in keys]
    lineage = "".join(f"{text}\0" for text in read)
    landed = blake2b(lineage.encode(), digest_size=8).hexdigest()
    return blake2b(f"{definition}\0{landed}".encode(), digest_size=8).hexdigest()
