"""What configuration records tell of the system, whatever stands in them."""

from __future__ import annotations

import pytest

from cpmon.ingest.container.source import Container
from cpmon.ingest.decode.configuration import release_of
from tests.dumps import dump, fields, interval
from tests.ingest.reading import check, inventory, read
from tests.scenarios import SAMPLE


@pytest.mark.parametrize("level", ["04030001", "²³¹²³¹01", "0403²001", "040", "", "00000000"])
def test_a_release_is_made_of_the_digits_0_to_9(level: str):
    data = dump(interval(60, fields("mtrsys", systmid="VMTEST", hcpcpeid=level), SAMPLE))

    for reader in (read, check, inventory):
        reader(data, Container.AUTO)

    assert release_of(level) == ("4.3.0" if level == "04030001" else "")
