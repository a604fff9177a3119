"""HOME/project.json: how this project differs from one that is set up completely.

    {
      "disabled_apis": ["dataflow.googleapis.com"],
      "missing_permissions": ["storage.objects.create"],
      "absent": ["projects/local-gcp/serviceAccounts/jobs@local-gcp.iam.gserviceaccount.com"],
      "quotas": {"aiplatform.googleapis.com/custom_model_training_cpus": 4},
      "skus": {"6F81-5844-456A": [{"description": "N1 Predefined Instance Core ...", ...}]},
      "resources": {"projects/local-gcp/regions/us-central1/subnetworks/lab": {...}}
    }

disabled_apis        disabled in Service Usage; those of this package, and Monitoring, return 403
missing_permissions  permissions that testIamPermissions does not return; Monitoring enforces its
                     own, other services enforce none
absent               default resources that do not exist (404)
quotas               limits by metric, the same in every region; -1 for none
skus                 the Cloud Billing Catalog, by service (default: empty)
parent               what the project is in: organizations/NUMBER or folders/NUMBER
resources            further resources that GET returns, by name; NAME:policy is the response of
                     getIamPolicy

The file is read at each request. Without it, the project is set up completely.
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
    """The content of the file."""

    disabled_apis: Sequence[str] = ()
    missing_permissions: Sequence[str] = ()
    absent: Sequence[str] = ()
    quotas: Mapping[str, int] = dataclasses.field(default_factory=dict)
    parent: str = ""
    skus: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    resources: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def permitted(self, permissions: Sequence[str]) -> dict[str, list[str]]:
        """The response of testIamPermissions; without permissions, Google omits the field."""
        held = [name for name in permissions if name not in self.missing_permissions]
        return {"permissions": held} if held else {}


def read(path: Path) -> Facts:
    """The facts of a home; raises ApiError 500 for an invalid file."""
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
