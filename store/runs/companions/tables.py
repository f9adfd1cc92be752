"""The tables of companion figures: columns with their types and what they say."""

from __future__ import annotations

Columns = dict[str, tuple[str, str]]

THROUGHPUT: Columns = {
    "run_id": ("VARCHAR", "Run that was driven."),
    "interval_end": ("TIMESTAMP", "End of the load generator's interval, UTC."),
    "seconds": ("DOUBLE", "Its length."),
    "transactions": ("DOUBLE", "Transactions that ended in it."),
}
HARDWARE: Columns = {
    "run_id": ("VARCHAR", "Run that was measured."),
    "interval_end": ("TIMESTAMP", "End of the instrumentation's interval, UTC."),
    "seconds": ("DOUBLE", "Its length."),
    "busy_s": ("DOUBLE", "Busy seconds, summed over the processors."),
    "emulation_s": ("DOUBLE", "Emulation seconds, summed over the processors."),
}
QUERY_TIME: Columns = {
    "run_id": ("VARCHAR", "Run that was measured."),
    "sample": ("BIGINT", "Number of the sample, from 1: responses come in pairs."),
    "began": ("TIMESTAMP", "Local time of the response before the sample, as printed."),
    "ended": ("TIMESTAMP", "Local time of the response behind it, as printed."),
    "seconds": ("BIGINT", "Seconds between the two."),
    "virtual_cs": ("BIGINT", "Delta of VIRTCPU, hundredths of a second."),
    "total_cs": ("BIGINT", "Delta of TOTCPU, hundredths of a second."),
    "cp_cs": ("BIGINT", "Delta of TOTCPU less that of VIRTCPU, hundredths of a second."),
}
INDICATE_USER: Columns = {
    "run_id": ("VARCHAR", "Run that was measured."),
    "sample": ("BIGINT", "Number of the sample, from 1: responses come in pairs."),
    "userid": ("VARCHAR", "User asked about."),
    "virtual_ios": ("BIGINT", "Delta of IO, summed over the virtual processors."),
    "resident_pages": ("BIGINT", "RES of the response behind the sample, pages of 4 KB."),
    "working_set_pages": ("BIGINT", "WS of the response behind the sample, pages of 4 KB."),
    "page_reads": ("BIGINT", "Delta of READS, pages."),
    "page_writes": ("BIGINT", "Delta of WRITES, pages."),
}
EXERCISER: Columns = {
    "run_id": ("VARCHAR", "Run that was measured."),
    "sample": ("BIGINT", "Number of the sample, from 1."),
    "operation": ("VARCHAR", "read or write."),
    "passes": ("BIGINT", "How often the file was read or written."),
    "kb": ("BIGINT", "Kilobytes moved in all passes."),
    "seconds": ("DOUBLE", "Seconds that it took, as the tool prints them: rounded."),
    "kb_per_s": ("BIGINT", "Rate that the tool reports, kilobytes per second."),
}
SCORE: Columns = {
    "run_id": ("VARCHAR", "Run that was measured."),
    "tool": ("VARCHAR", "thrasher or burner."),
    "period": ("BIGINT", "Number of the period, from 1."),
    "seconds": ("DOUBLE", "Its length."),
    "score": (
        "BIGINT",
        "What the tool counted in it: references to buffers (thrasher), increments (burner).",
    ),
}

TABLES = {
    "throughput": THROUGHPUT,
    "hardware": HARDWARE,
    "query_time": QUERY_TIME,
    "indicate_user": INDICATE_USER,
    "exerciser": EXERCISER,
    "score": SCORE,
}
"""Columns by table of schema `meta`. A run is stored with a list of rows for each."""
