"""result: whether the champion is served by today's image, and the record of that."""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.lookups import documents, records
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.reserve.subject import ReservedSubject
from trellis.workflow.stages.result import failed_from
from trellis.workflow.stages.rollback.result import check
from trellis_contracts.deployment import SERVING, Deployment


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task; skipped with the others. Returns {"version", "before", "image"}."""

    @function_task(task_id="result", trigger_rule="all_done")
    def result(ti=None, dag=None, run_id=None, dag_run=None):
        if ti.xcom_pull(task_ids="resolve") is None:
            _nothing_to_do(ti)
        subject = ReservedSubject(experiment, platform)
        decided, run = subject.decided(run_id), subject.run(run_id)
        done = documents.find_file(platform, Deployment, run.deployment)
        broken = failed_from(ti, dag, "deploy.register")
        if done is None or done.state != SERVING or broken:
            raise AirflowFailException(_failure(done, broken))
        check(platform, done.endpoint, done.model)
        record = ChampionRecord(
            experiment=experiment.name,
            run_id=run_id,
            at=records.now(),
            user=dag_run.triggering_user_name,
            asked=CHAMPION,
            version=done.model,
            before=decided.version,
            image=decided.image,
        )
        records.add_champion(platform, run.record, record)
        print(f"{done.endpoint} serves {done.model}, by {decided.image}.")
        print(
            f"To go back to {decided.version} and its image, trigger the DAG "
            f"`{platform.dag_id('rollback')}`."
        )
        return {"version": done.model, "before": decided.version, "image": decided.image}

    return result()


def _nothing_to_do(ti: Any) -> None:
    """Raise for a run without a decision: AirflowSkipException if there was nothing to do."""
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=["resolve"], run_ids=[ti.run_id])
    if states.get(ti.run_id, {}).get("resolve") == "skipped":
        raise AirflowSkipException("Today's image serves the champion already.")
    raise AirflowFailException("`resolve` has failed, and its log says why: nothing was changed.")


def _failure(done: Deployment | None, broken: list[str]) -> str:
    """Say in a sentence or two what is not as it should be, and what to do."""
    if done is not None and done.state == SERVING:
        state = f"{done.model} is served by today's image"
    else:
        state = "The champion is served as before"
    why = f": {done.reason.rstrip('.')}" if done is not None and done.reason else ""
    task = broken[0] if broken else "deploy.register"
    return f"{state}, but `{task}` failed or did not run{why}. Clear it and the tasks after it."
