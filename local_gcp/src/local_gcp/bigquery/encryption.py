"""Customer-managed keys of tables, datasets and models: kept and returned, not used to encrypt.

https://cloud.google.com/bigquery/docs/customer-managed-encryption
"""

from __future__ import annotations

import re
from typing import Any

from .errors import BigQueryError, invalid

Configuration = dict[str, Any]
"""REST EncryptionConfiguration."""

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_NO_GLOBAL_KEY = ("BOOSTED_TREE_", "DNN_")


def checked(configuration: Configuration | None, location: str) -> Configuration | None:
    """The key for a resource in `location`; None is Google's own key.

    Raises BigQueryError(invalid) for a malformed name, and for a key in another location.
    """
    if configuration is None:
        return None
    key = configuration.get("kmsKeyName")
    if not key:
        raise invalid("The KMS key does not contain a location.")
    match = _KEY.fullmatch(key)
    if match is None:
        raise invalid(
            f"Invalid Cloud KMS key {key}: expected projects/PROJECT/locations/LOCATION/keyRings/"
            "RING/cryptoKeys/KEY, without /cryptoKeyVersions/."
        )
    place = {"EU": "europe"}.get(location, location.lower())
    if match[1] not in (place, "global"):
        raise invalid(
            f"This region is not supported: the Cloud KMS key is in {match[1]}, but a resource in "
            f"{location} needs a key in {place}."
        )
    return {"kmsKeyName": key}


def of_model(configuration: Configuration | None, model_type: str, location: str) -> Any:
    """The key for a BigQuery ML model."""
    key = checked(configuration, location)
    everywhere = key is not None and "/locations/global/" in key["kmsKeyName"]
    if everywhere and model_type.upper().startswith(_NO_GLOBAL_KEY):
        raise invalid(f"{model_type} models do not support Cloud KMS keys in global.")
    return key


def replaced(
    old: Configuration | None, new: Configuration | None, location: str
) -> Configuration | None:
    """The key after an update, which can only replace a customer's key by another."""
    if not old and not new:
        return None
    if not old or not new:
        raise invalid(
            "An update cannot add or remove customer-managed encryption; copy the table with or "
            "without a destination key."
        )
    return checked(new, location)


def mismatch() -> BigQueryError:
    """Error for a destination whose key differs from the job's."""
    return invalid(
        "Existing table encryption settings don't match encryption settings specified in the "
        "request"
    )
