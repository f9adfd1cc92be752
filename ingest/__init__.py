"""From a dump to the store: containers, frames, record index, columns, findings, landing."""
