"""Who may answer whether a promoted training is deployed: by name, address or role.

Airflow lets those users answer a question of a task whose ids the question lists. Ids of FAB's auth
manager, Composer's, are numbers that nobody writes into a file, and roles it does not compare. So
before a user's answer is handled, a user whose name, address of mail or role the question of a task
`approve` lists is listed by id, too. Whoever is not, or may not edit the DAG's questions, is
refused by Airflow as ever.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from fastapi import HTTPException, Request
from fastapi.security import HTTPBearer
from sqlalchemy import select

from trellis.workflow.spec.deployment import ROLE

_QUESTION = re.compile(
    r"/dags/(?P<dag_id>[^/]+)/dagRuns/(?P<run_id>[^/]+)/taskInstances/(?P<task_id>[^/]+)"
    r"/(?P<map_index>-?\d+)/hitlDetails"
)

_OPERATOR = "ApproveOperator"
"""Tasks of other DAGs list whom they mean."""


async def enter(scope: Any) -> None:
    """List the user of a request by id, if the question that it answers lists the user otherwise.

    scope: of an ASGI request. One without a valid sign-in changes nothing.
    """
    found = _QUESTION.search(scope["path"])
    if found is None:
        return
    request = Request(scope)
    try:
        user = await get_user(request, None, await HTTPBearer(auto_error=False)(request))
    except HTTPException:
        return
    await asyncio.to_thread(_enter, user, found.groupdict())


def _enter(user: Any, question: Mapping[str, str]) -> None:
    task = select(HITLDetail).join(TaskInstance, HITLDetail.ti_id == TaskInstance.id)
    where = {name: getattr(TaskInstance, name) == value for name, value in question.items()}
    where["map_index"] = TaskInstance.map_index == int(question["map_index"])
    with create_session() as session:
        detail = session.scalar(
            task.where(*where.values(), TaskInstance.operator == _OPERATOR).with_for_update(
                of=HITLDetail
            )
        )
        if detail is None:
            return
        listed = [one["id"] for one in detail.assignees or ()]
        own = str(user.get_id())
        if own in listed or not any(is_listed(user, name) for name in listed):
            return
        dag_id = question["dag_id"]
        of = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id, session=session))
        if get_auth_manager().is_authorized_dag(
            method="PUT", access_entity=DagAccessEntity.HITL_DETAIL, details=of, user=user
        ):
            entry = {"id": own, "name": user.get_name()}
            detail.assignees = [*(detail.assignees or ()), entry]


def is_listed(user: Any, approver: str) -> bool:
    """Return whether an approver of an experiment's file is this user, or a role that it has."""
    if approver.startswith(ROLE):
        role = approver.removeprefix(ROLE).casefold()
        return role in (name.casefold() for name in _roles(user))
    address = getattr(user, "email", None) or ""
    return approver == user.get_name() or approver.casefold() == address.casefold()


def _roles(user: Any) -> Iterator[str]:
    """Names of the user's roles: FAB's users have several, those of the simple auth manager one."""
    if isinstance(role := getattr(user, "role", None), str):
        yield role
    for each in getattr(user, "roles", None) or ():
        yield each if isinstance(each, str) else each.name
