"""The files beside a dump: run file, external counts, responses of repeated samples."""
