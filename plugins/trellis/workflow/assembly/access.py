"""Grants Airflow's rights on a DAG, from `access` of platform.yaml."""

from collections.abc import Iterable
from typing import Any

from trellis.workflow.spec.platform import Platform

# Names of the FAB provider's resources and actions:
# https://airflow.apache.org/docs/apache-airflow-providers-fab/stable/auth-manager/access-control.html
_SEE = {"DAGs": {"can_read"}, "DAG Runs": {"can_read"}}
# Whoever may edit a DAG may clear and mark its tasks; to trigger it is to create a run.
_CHANGE = {
    "DAGs": {"can_read", "can_edit"},
    "DAG Runs": {"can_read", "can_create", "can_delete"},
}


def access_control(platform: Platform, owners: Iterable[str]) -> dict[str, Any] | None:
    """The DAG's argument: rights by role. owners: of all experiments that the DAG works for.

    None leaves the DAG to rights that are for all DAGs. FAB's auth manager writes them to its
    tables when the DAG is parsed, and refuses a DAG that names a role that does not exist.
    """
    if platform.access is None:
        return None
    may = dict.fromkeys(platform.access.readers, _SEE)
    for owner in owners:
        may |= dict.fromkeys(platform.access.owners.get(owner, ()), _CHANGE)
    return may
