"""HOME/project.json: how this project differs from one in which all is well.

    {
      "disabled_apis": ["dataflow.googleapis.com"],
      "missing_permissions": ["storage.objects.create"],
      "absent": ["projects/local-gcp/serviceAccounts/jobs@local-gcp.iam.gserviceaccount.com"],
      "quotas": {"aiplatform.googleapis.com/custom_model_training_cpus": 4},
      "skus": {"6F81-5844-456A": [{"description": "N1 Predefined Instance Core ...", ...}]},
      "resources": {"projects/local-gcp/regions/us-central1/subnetworks/lab": {...}}
    }

disabled_apis        of these, Service Usage says so, and the APIs of this package answer 403
missing_permissions  the caller lacks them, by testIamPermissions; nothing else asks for them
absent               resources that are answered 404, though they would be here else
quotas               limits by metric, the same in every region; -1 for none
skus                 the Cloud Billing Catalog, by service; none without this
resources            what GET answers, by resource name, besides what is here anyway; NAME:policy
                     is the answer of getIamPolicy

It is read at each request. No file: all is well.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_gcp.rest import ApiError


@dataclasses.dataclass(frozen=True)
class Facts:
    """The file's content; see the module."""

    disabled_apis: Sequence[str] = ()
    missing_permissions: Sequence[str] = ()
    absent: Sequence[str] = ()
    quotas: Mapping[str, int] = dataclasses.field(default_factory=dict)
    skus: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    resources: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def permitted(self, asked: Sequence[str]) -> dict[str, list[str]]:
        """The answer of testIamPermissions; without any, Google leaves the field out."""
        held = [name for name in asked if name not in self.missing_permissions]
        return {"permissions": held} if held else {}


def read(path: Path) -> Facts:
    """The facts of a home. ApiError 500 for a file that cannot be used."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return Facts()
    except ValueError as error:
        raise ApiError(500, f"{path}: {error}", "backendError") from None
    known = {field.name for field in dataclasses.fields(Facts)}
    if not isinstance(content, dict) or (unknown := sorted(content.keys() - known)):
        wrong = f"unknown key {unknown[0]!r}" if isinstance(content, dict) else "no JSON object"
        raise ApiError(500, f"{path}: {wrong}; there are {', '.join(sorted(known))}.")
    return Facts(**content)
