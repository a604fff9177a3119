"""`trellis prices`: compares the table of machines with today's prices of Google's catalog.

It prints what would change, and writes only with `--write`: into the checkout or installation
that it runs in, of which the wheel is then built.
"""

import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from trellis.google_api import CredentialsError, GoogleApi, RefusedError
from trellis.workflow.pricing import catalog, renewal
from trellis.workflow.pricing.machines import TABLE
from trellis.workflow.spec import platform
from trellis.workflow.spec.problems import FileError

_URL = "https://cloudbilling.googleapis.com/v1/services/{service}/skus"
_PAGE = 5000


def run(folder: Path, write: bool, file: Path = TABLE) -> int:
    """Compare for the region of a folder's platform.yaml; returns the exit code."""
    try:
        region = platform.load(folder).region
        api = GoogleApi()
        rates = catalog.rates(_skus(api), region)
    except (FileError, CredentialsError) as error:
        print(error, file=sys.stderr)
        return 1
    except RefusedError as error:
        print(f"The catalog could not be read: {error.message}", file=sys.stderr)
        if error.disabled:
            print(f"gcloud services enable {error.disabled}", file=sys.stderr)
        return 1
    if not rates.usd:
        print(f"The catalog has no machine in {region}. Nothing was changed.", file=sys.stderr)
        return 1
    old = json.loads(file.read_text())
    new = renewal.renewed(old, rates, region, date.today())
    _report(old, new, rates)
    if write:
        file.write_text(renewal.text(new.table))
        print(f"\nWritten: {file}")
    else:
        print("\nNothing was written. With --write it is.")
    return 0


def _skus(api: GoogleApi) -> Iterator[dict[str, Any]]:
    for service in catalog.SERVICES.values():
        yield from api.each(_URL.format(service=service), "skus", pageSize=_PAGE)


def _report(old: dict[str, Any], new: renewal.Renewal, rates: catalog.Rates) -> None:
    region = new.table["region"]
    print(f"{old['region']} of {old['date']} -> {region} of {new.table['date']}, USD an hour\n")
    print("\n".join(new.changes) or "No price has changed.")
    if new.kept:
        print(f"\nNot found in the catalog, kept as they were: {', '.join(new.kept)}")
    if new.removed:
        print(f"\nWithout a price in {region}, removed: {', '.join(new.removed)}")
    if rates.ambiguous:
        print("\nOf these the catalog has two prices, so none was taken:")
        print("\n".join(f"  {description}" for description in rates.ambiguous))
