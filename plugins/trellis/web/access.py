"""The runs that a user may see, and their bucket.

Airflow's auth manager decides: a person sees an experiment's runs who may read its DAG and that
DAG's runs. On these pages an experiment has the id of its DAG: two groups of one Airflow may each
have a `churn`, and the prefixes of their DAGs differ. The bucket is the one in which the DAG's
newest plan lies: `plan` returned its address. An api-server has no DAG folder, and so no
platform.yaml, on Cloud Composer.
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


@dataclass(frozen=True)
class Source:
    """Place of a DAG's runs: a bucket and an experiment."""

    place: Place
    experiment: str


def visible(user: Any) -> dict[str, Source]:
    """Experiments that have a plan and whose runs the user may see, in order of their DAGs' ids."""
    manager = get_auth_manager()
    with create_session() as session:
        known = _sources(session)
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


def _sources(session: Any) -> dict[str, Source]:
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
        .order_by(XComModel.timestamp)
    )
    # If the prefix was changed, the former DAG has plans of the same runs: the newest counts.
    by_source = {source: dag_id for dag_id, value in rows if (source := _source(dag_id, value))}
    return {dag_id: source for source, dag_id in by_source.items()}


def _source(dag_id: str, value: Any) -> Source | None:
    """Return the place that a task `plan` returned; None if another DAG's task of that name
    returned something else.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, dict):
        return None
    plan, connection = value.get("plan"), value.get("connection")
    match = _PLAN.fullmatch(plan) if isinstance(plan, str) else None
    if match is None or not dag_id.endswith(match[2]) or not isinstance(connection, str):
        return None
    return Source(Place(match[1], connection), match[2])
