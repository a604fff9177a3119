"""Whose runs somebody may see, and in which bucket they are.

Airflow's auth manager decides: a person sees an experiment's runs who may read its DAG and that
DAG's runs. The bucket is the one in which the newest plan of the experiment lies: `plan` returned
its address. An api-server has no DAG folder, and so no platform.yaml, on Cloud Composer.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import create_session
from sqlalchemy import and_, func, select, tuple_

_PLAN = re.compile(r"gs://([^/]+)/([^/]+)/runs/[^/]+/plan\.json")


@dataclass(frozen=True)
class Place:
    """A bucket, and the Airflow connection that reads it."""

    bucket: str
    connection: str


def visible(user: Any) -> dict[str, Place]:
    """Experiments that have a plan and whose runs the user may see, in order of their names."""
    manager = get_auth_manager()
    with create_session() as session:
        known = _places(session)
        allowed = manager.get_authorized_dag_ids(user=user, session=session) & known.keys()
        teams = DagModel.get_dag_id_to_team_name_mapping(sorted(allowed), session=session)
    return {
        name: known[name]
        for name in sorted(allowed)
        if manager.is_authorized_dag(
            method="GET",
            access_entity=DagAccessEntity.RUN,
            details=DagDetails(id=name, team_name=teams.get(name)),
            user=user,
        )
    }


def states(runs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Airflow's state of runs, by (DAG id, run id). It forgets old ones."""
    wanted = list(runs)
    if not wanted:
        return {}
    found = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(
        tuple_(DagRun.dag_id, DagRun.run_id).in_(wanted)
    )
    with create_session() as session:
        return {(dag, run): str(state) for dag, run, state in session.execute(found)}


def _places(session: Any) -> dict[str, Place]:
    of_plans = and_(XComModel.task_id == "plan", XComModel.key == XCOM_RETURN_KEY)
    newest = (
        select(XComModel.dag_id, func.max(XComModel.timestamp).label("at"))
        .where(of_plans)
        .group_by(XComModel.dag_id)
        .subquery()
    )
    rows = session.execute(
        select(XComModel.dag_id, XComModel.value)
        .join(newest, and_(newest.c.dag_id == XComModel.dag_id, newest.c.at == XComModel.timestamp))
        .where(of_plans)
    )
    found = {dag_id: _place(dag_id, value) for dag_id, value in rows}
    return {dag_id: place for dag_id, place in found.items() if place}


def _place(dag_id: str, value: Any) -> Place | None:
    """None if another's task `plan` returned something else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, dict):
        return None
    plan, connection = value.get("plan"), value.get("connection")
    match = _PLAN.fullmatch(plan) if isinstance(plan, str) else None
    if match is None or match[2] != dag_id or not isinstance(connection, str):
        return None
    return Place(match[1], connection)
