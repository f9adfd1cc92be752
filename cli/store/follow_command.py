"""`cpmon follow`: lands monitor data while it comes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CpmonError
from ...core.text import counted
from ..dump.dump_output import container_option
from ..main import Status, status_of, worse
from ..options import ANY_PATH, LENGTH, Name, Parsed, release_option, store_option
from ..output import TARGET_FILE, check_target, parents_option, say
from ..site_settings import settings, store_at

if TYPE_CHECKING:
    from datetime import timedelta

    from ...ingest import Code, Landed
    from ...store import Store


def _address(text: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = text.rpartition(":")
    if not 0 < int(port) < 65536:
        raise ValueError(text)
    return host.strip("[]") or "127.0.0.1", int(port)


ADDRESS = Parsed("address", ":9117 or 10.0.0.1:9117", "[HOST]:PORT", _address)


@click.command("follow")
@click.argument("source", type=ANY_PATH)
@store_option
@click.option(
    "--system", type=Name(), metavar="NAME", help="Name of the system, instead of the data's own."
)
@release_option
@container_option
@click.option(
    "--metrics",
    type=ADDRESS,
    help="Serve OpenMetrics there, as :9117; on this machine alone if no host is named.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Send the same metrics to a collector of OpenTelemetry, as http://HOST:4318.",
)
@click.option(
    "--metrics-top",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="So many users, devices and processors have metrics of their own.",
)
@click.option(
    "--alerts",
    type=TARGET_FILE,
    metavar="FILE",
    help="Append exceptions there when they begin and end, as JSON lines.",
)
@click.option(
    "--webhook",
    metavar="URL",
    help="Post each line of --alerts there, until it is accepted.",
)
@parents_option
@click.option("--idle", type=LENGTH, help="End when nothing has come for so long, as 30s.")
def command(
    source: Path,
    store: Path,
    system: str | None,
    release: str,
    container: str,
    metrics: tuple[str, int] | None,
    otlp: str | None,
    metrics_top: int,
    alerts: Path | None,
    webhook: str | None,
    idle: timedelta | None,
) -> Status:
    """Land what comes from SOURCE: each interval is in the store seconds after its last record.

    SOURCE is /dev/monreader, a MONWRITE file that grows, a FIFO, - for standard input, or a folder
    in which files named as dumps are (*.mon, *.monwrite) replace each other. What was in the store
    before a kill stays there, and nothing comes twice: a file is followed on where it was left; of
    a pipe or device, what came in between is lost, and the store shows a gap.

    It ends where a file has its end-of-data record, a pipe is closed, or by Ctrl-C.

    \b
    Examples:
      cpmon follow /dev/monreader --store perf/
      cpmon generate small-lab --run LAB --pace 60x -o - | cpmon follow - --store perf/
      cpmon follow /data/monwrite/ --store perf/ --system VMPROD
      cpmon follow /dev/monreader --store perf/ --metrics :9117 --alerts alerts.jsonl
      cpmon follow /dev/monreader --store perf/ --otlp http://HOST:4318
      cpmon follow /dev/monreader --store perf/ --alerts a.jsonl --webhook https://HOST/cpmon
    """
    from ...config.settings import PATTERNS
    from ...ingest.following import follow

    if webhook and not alerts:
        raise click.UsageError("--webhook posts the lines of a file: add --alerts FILE")
    check_target(alerts)
    if alerts:
        alerts.parent.mkdir(parents=True, exist_ok=True)
    place, worst = store_at(store, create=True), Status.DONE
    told: set[Code] = set()
    options: dict[str, Any] = {"system": system, "release": release, "container": container}
    options["idle_s"] = None if idle is None else idle.total_seconds()
    if fallback := settings().release(system):
        options["fallback_release"] = fallback
    told_of: list[Callable[[Landed], None]] = []
    try:
        with ExitStack() as serving:
            if metrics or otlp:
                told_of.append(serving.enter_context(_measuring(place, metrics, otlp, metrics_top)))
            if alerts:
                told_of.append(serving.enter_context(_alerting(place, alerts, webhook)))
            for landed in follow(source, place, PATTERNS, **options):
                worst = worse(worst, report_landed(landed, told))
                for tell in told_of:
                    tell(landed)
    finally:
        place.discard_unused()
    return worst


@contextmanager
def _measuring(
    store: Store, address: tuple[str, int] | None, otlp: str | None, top: int
) -> Iterator[Callable[[Landed], None]]:
    """Computes metrics of what lands, for scrapes and for a collector."""
    from ...batch.figures import LiveMetrics, Send

    send: Send | None = None
    with ExitStack() as running:
        if otlp:
            if find_spec("opentelemetry") is None:
                raise CpmonError(
                    "the packages of the extra otlp are not installed",
                    code="otlp-extra-missing",
                    effect="nothing was followed",
                    remedy="pip install 'cpmon[otlp]'",
                )
            from ...batch.otlp import by_otlp

            send = running.enter_context(by_otlp(otlp, functools.partial(say, err=True)))
        metrics = LiveMetrics(store, settings(), top, send)
        running.enter_context(metrics.computed())
        if address:
            running.enter_context(metrics.served(*address))
        yield metrics.landed


@contextmanager
def _alerting(store: Store, file: Path, webhook: str | None) -> Iterator[Callable[[Landed], None]]:
    """Tells alerts to a file, and from there to whoever is to get them."""
    from ...batch.alerts import Alerts
    from ...batch.delivery import Delivery, by_command, by_webhook
    from ...batch.hooks import refuse_untrusted

    refuse_untrusted(settings())
    senders = {"webhook": by_webhook(webhook)} if webhook else {}
    if settings().batch.hook_alert:
        senders["hook"] = by_command(settings().batch)
    alerts = Alerts(store, settings(), file)
    report = functools.partial(say, err=True)
    deliveries = [Delivery(file, name, send, report) for name, send in senders.items()]
    alerts.catch_up()

    def tell(landed: Landed) -> None:
        alerts.landed(landed)
        for delivery in deliveries:
            delivery.wake()

    with ExitStack() as running:
        for delivery in deliveries:
            running.enter_context(delivery.running())
        yield tell


def report_landed(landed: Landed, told: set[Code]) -> Status:
    """Print what landed and its findings; returns the status of these.

    Args:
        told: codes that have been printed: those that are worth knowing are printed once.
    """
    about = landed.about
    rows = counted(sum(about["rows"].values()), "row")
    until = (about["last_tod"] or "no record")[: len("2001-12-18 10:00:00")]
    say(f"{landed.system} {until}: {counted(about['intervals'], 'interval')}, {rows}")
    for code, count in sorted(landed.findings.counts.items(), key=lambda item: item[0].name):
        if code not in told or code.severity != "info":
            detail = landed.findings.first(code).detail
            say(f"  {code.severity}: {code.name} x {count:,}: {detail}", err=True)
        told.add(code)
    return status_of(landed.findings.worst)
