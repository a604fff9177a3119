"""Prices of what is no machine: BigQuery's queries, Dataflow's workers, disks, AutoML's node hours.

prices.json is the one table, by region as machines.json; `trellis prices` renews both. AutoML has
one price for all regions, Composer is held at one: these two are by hand, as their SKUs' names in
the catalog are on no page of Google's and in no public list. No prices of spot machines exist for
any of these.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("prices.json")

AUTOML, COMPOSER = "AutoML's node hours", "Composer's DCU-hours"


@dataclass(frozen=True)
class Services:
    """US dollars in one region.

    query_tib: a TiB that a query reads. dataflow_*: an hour of a vCPU, of a GB of memory, of a GB
    of a worker's pd-standard. training_disk_gb: an hour of a GB of pd-ssd of a Vertex AI job.
    storage_gb_month: a month of a GB in Cloud Storage. automl: an hour of training, of a
    deployed node and of batch prediction, by the kind of data; one that is not there is an hour of
    the machines. composer_dcu: an hour of a DCU of Composer's environment. composer_dcus: from how
    many to how many a small one is, by others' estimate. by_hand: date and source
    of what `trellis prices` does not renew, by what it is.
    """

    region: str
    regions: tuple[str, ...]
    date: str
    source: str
    automl: Mapping[str, Mapping[str, float]]
    composer_dcu: float
    composer_dcus: tuple[int, int]
    by_hand: Mapping[str, tuple[str, str]]
    query_tib: float
    dataflow_vcpu: float
    dataflow_memory_gb: float
    dataflow_disk_gb: float
    training_disk_gb: float
    storage_gb_month: float


@functools.cache
def table(region: str | None = None, path: Path = TABLE) -> Services:
    """The prices of a region in a file; those of its first region, if it has none of it."""
    raw: dict[str, Any] = json.loads(path.read_text())
    regions = tuple(raw["prices"])
    whose = region if region is not None and region in regions else regions[0]
    automl = {kind: raw["automl"][kind] for kind in ("image", "table")}
    by_hand = {
        what: (raw[key]["date"], raw[key]["source"])
        for what, key in ((AUTOML, "automl"), (COMPOSER, "composer"))
    }
    composer = raw["composer"]
    everywhere = (automl, composer["dcu"], tuple(composer["dcus"]), by_hand)
    return Services(whose, regions, raw["date"], raw["source"], *everywhere, **raw["prices"][whose])
