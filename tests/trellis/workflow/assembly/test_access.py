"""Ids and rights of a group's DAGs in an Airflow that others use too."""

from datetime import timedelta

import pytest

from trellis.workflow.assembly import prediction, reserve, rollback, training, undeploy_previous
from trellis.workflow.spec.platform import Access
from trellis.workflow.validation import group as validation

# Airflow 4 will have another way; FAB's auth manager has no other until then.
pytestmark = pytest.mark.filterwarnings("ignore:The airflow.security.permissions module")

SEE = {"DAGs": {"can_read"}, "DAG Runs": {"can_read"}}
CHANGE = {
    "DAGs": {"can_read", "can_edit"},
    "DAG Runs": {"can_read", "can_create", "can_delete"},
}


def dags(digits, group):
    other = digits.model_copy(update={"name": "other", "owner": "ada"})
    owners = [digits.owner, other.owner]
    return {
        "digits": training.build(digits, group),
        "digits-predict": prediction.build(digits, group),
        "digits-reserve": reserve.build(digits, group),
        "rollback": rollback.build({"digits": digits, "other": other}, group),
        "undeploy_previous": undeploy_previous.build(group, owners),
    }


def test_every_dag_has_the_groups_prefix_and_the_texts_name_it(digits, group):
    lab = group.model_copy(update={"dag_prefix": "lab-"})
    found = dags(digits, lab)
    assert {dag.dag_id for dag in found.values()} == {f"lab-{name}" for name in found}
    keeping = digits.model_copy(
        update={"deploy": digits.deploy.model_copy(update={"keep_previous": timedelta(days=1)})}
    )
    trigger = training.build(keeping, lab).get_task("deploy.undeploy_previous")
    assert trigger.trigger_dag_id == "lab-undeploy_previous"
    assert "trellis/experiments/lab-digits)" in found["digits"].doc_md
    assert "DAG `lab-rollback`" in found["digits"].doc_md
    assert "DAG `lab-rollback`" in found["digits-predict"].doc_md
    assert "DAG `lab-rollback`" in found["digits-reserve"].doc_md
    # Not a name of Airflow's: the folder of its runs.
    assert f"gs://{lab.bucket}/digits/runs/RUN/" in found["digits"].doc_md


def test_without_access_airflows_rights_to_all_dags_decide(digits, group):
    assert {dag.access_control for dag in dags(digits, group).values()} == {None}


def test_owners_may_change_their_dags_and_readers_see_all(digits, group):
    access = Access(
        readers=["staff", "vision"], owners={digits.owner: ["vision"], "ada": ["ada", "friends"]}
    )
    found = dags(digits, group.model_copy(update={"access": access}))
    own = {"staff": SEE, "vision": CHANGE}
    shared = {**own, "ada": CHANGE, "friends": CHANGE}
    assert {name: dag.access_control for name, dag in found.items()} == {
        "digits": own,
        "digits-predict": own,
        "digits-reserve": own,
        "rollback": shared,
        "undeploy_previous": shared,
    }


def test_an_owner_without_a_role_is_a_problem_of_the_file(digits, group):
    access = Access(owners={f"{digits.owner}s": ["vision"]})
    (found,) = validation.problems(digits, group.model_copy(update={"access": access}))
    assert str(found).startswith("owner: platform.yaml names no role of")
    assert f"did you mean '{digits.owner}s'" in str(found)
