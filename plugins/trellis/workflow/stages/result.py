"""result: report the winner and its deployment; fail the run if a training or deployment failed.

Completes the run's record in the index in either case.

A run must not succeed if its leaderboard lacks a training or its promoted model is not served: this
task, the last of the DAG, decides the run's state. Promoting nothing is not a failure.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import costs
from trellis.workflow.stages.stage import Row, Stage
from trellis_contracts.approval import Approval
from trellis_contracts.deployment import RETREATED, SERVING, Deployment
from trellis_contracts.leaderboard import Leaderboard


def task(experiment: Experiment, platform: Platform, stages: Sequence[Stage]) -> Any:
    """The Airflow task. Returns {"winner", "metric", "value", "report"}, and "deployment", a
    sentence, if the experiment deploys.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, records
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="result")
    def result(ti=None, dag=None, run_id=None):
        run = layout.Run.of(experiment, platform, run_id)
        board = documents.read_file(platform, Leaderboard, run.leaderboard)
        for line in summary(board):
            print(line)
        print(f"Report: {run.report}")
        record, answer, broken = None, None, []
        failure = incomplete(board, run.report)
        if experiment.deploy is not None:
            record = documents.find_file(platform, Deployment, run.deployment)
            broken = failed_from(ti, dag, "promote")
            answer = documents.find_file(platform, Approval, run.approval)
            failure = failure or not_served(board, record, broken, answer)
        actual = _spent(experiment, platform, stages, ti, board)
        if actual is not None:
            _report_cost(experiment, platform, stages, ti, run.report, actual)
        saved = costs.spot_savings(stages, experiment, platform, actual or {})
        if saved:
            print(f"Spot machines have saved about {sum(saved.values()):.2f} USD of that.")
        savings = sum(saved.values()) if saved else None
        if platform.experiments:
            _to_vertex_experiments(platform, run, board)
        records.end(platform, run, board, record, failure, actual, savings, answer)
        if failure:
            raise AirflowFailException(failure)
        found = winner(board) | {"report": run.report}
        if experiment.deploy is None:
            return found
        text = deployment(board, record, broken, answer)
        print(text)
        return found | {"deployment": text}

    return result()


def _spent(
    experiment: Experiment,
    platform: Platform,
    stages: Sequence[Stage],
    ti: Any,
    board: Leaderboard,
) -> dict[str, float] | None:
    """Return the cost of the run by stage; None if Google does not tell, which fails no run. Prints
    what was reused, too, which has cost nothing.
    """
    from trellis.workflow.lookups import plans

    try:
        plan = plans.load(experiment, platform, ti.run_id)
        for line in plan.reuse.lines():
            print(line)
        usd = costs.spent(stages, plan, platform, ti, board)
    except Exception as error:
        print(f"What the run has cost is not known: {error}")
        return None
    parts = ", ".join(f"{stage} {amount:.2f}" for stage, amount in usd.items())
    print(f"By its jobs' own times, the run has cost about {sum(usd.values()):.2f} USD ({parts})")
    return usd


def _report_cost(
    experiment: Experiment,
    platform: Platform,
    stages: Sequence[Stage],
    ti: Any,
    report: str,
    actual: dict[str, float],
) -> None:
    """A report that cannot be written fails no run: the record has the cost, too."""
    from trellis.workflow.lookups import plans
    from trellis.workflow.stages import cost_in_report

    try:
        plan = plans.load(experiment, platform, ti.run_id)
        saved = costs.spot_savings(stages, plan.experiment, platform, actual)
        cost_in_report.write(platform, report, plan, actual, saved)
    except Exception as error:
        print(f"The report does not say what the run has cost: {error}")


def _to_vertex_experiments(platform: Platform, run: layout.Run, board: Leaderboard) -> None:
    """Write the contenders to Vertex AI Experiments. A failure fails no run: bucket and index have
    everything.
    """
    from trellis.workflow.stages import vertex_experiment

    try:
        vertex_experiment.write(platform, run, board)
    except Exception as error:
        print(f"Vertex AI Experiments does not have this run: {error}")


def incomplete(board: Leaderboard, report: str) -> str | None:
    """Return why the run must not succeed if the leaderboard lacks a training, else None."""
    if missing := failed(board):
        return (
            f"The leaderboard ({report}) is incomplete: {missing}. Clear the failed training to "
            "run it again; comparison and result follow."
        )
    return None


def not_served(
    board: Leaderboard,
    record: Deployment | None,
    broken: list[str],
    answer: Approval | None = None,
) -> str | None:
    """Return why the run must not succeed if the promoted training is not served, else None: people
    may not want it.

    record, broken, answer: as in `deployment`.
    """
    promoted = board.promotion is not None and board.promotion.promoted
    served = record is not None and record.state == SERVING
    wanted = promoted and not (answer and answer.denied)
    if broken or (wanted and not served):
        return deployment(board, record, broken, answer)
    return None


def deployment(
    board: Leaderboard,
    record: Deployment | None,
    broken: list[str],
    answer: Approval | None = None,
) -> str:
    """Describe the challenger's deployment in one or two sentences.

    record: deployment.json, None if there is none. broken: failed tasks of the deployment. answer:
    approval.json, None if nobody was asked.
    """
    from trellis.workflow.contracts.run_params import NOT_DEPLOYED

    decision = board.promotion
    if decision is None:
        return f"Nothing was to be deployed: {NOT_DEPLOYED}."
    who = decision.challenger or "No contender"
    written = record.reason.rstrip(".") if record and record.reason else None
    broke = f"`{broken[0]}` failed or was marked as failed" if broken else ""
    # A task that a person marked has nothing in its log.
    clear = f"Clear `{broken[0]}` to do it and what follows again." if broken else ""
    if not decision.promoted:
        text = f"{who} is not promoted: {decision.reason}. The served version stays."
        return f"{text} But {broke}. {clear}" if broken else text
    if record and record.state == SERVING:
        text = f"{who} is promoted and deployed: {record.endpoint} serves {record.model}."
        return f"{text} But {broke}{f': {written}' if written else ''}. {clear}" if broken else text
    if answer and answer.denied and not broken:
        return f"{who} is promoted, but not deployed: {answer.summary}. The served version stays."
    if broken:
        back = ""
        if record and record.state == RETREATED:
            again = ", and the previous version has all requests" if record.previous else ""
            back = f" It was undeployed{again}."
        return f"{who} was promoted, but not deployed: {written or broke}.{back} {clear}"
    return f"{who} is promoted, and its deployment has not ended: see deployment.json."


def failed_from(ti: Any, dag: Any, first: str) -> list[str]:
    """List the tasks from a first one on that failed themselves (not upstream), in order."""
    behind = dag.get_task(first).get_flat_relative_ids(upstream=False)
    order = [task.task_id for task in dag.topological_sort()]
    tasks = [name for name in order if name in {first, *behind} - {"settled", ti.task_id}]
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=tasks, run_ids=[ti.run_id])
    return [name for name in tasks if states.get(ti.run_id, {}).get(name) == "failed"]


def summary(board: Leaderboard) -> list[str]:
    """The leaderboard in lines, the winner first."""
    chosen = board.selected
    lines = [f"Winner: {board.winner}"]
    if chosen and chosen.name != board.winner:
        lines.append(f"Selected training: {chosen.name}")
    for contender in sorted(board.contenders, key=lambda c: c.name != board.winner):
        if contender.status == "ok":
            value = contender.metrics[board.primary_metric].value
            lines.append(f"{contender.name}: {board.primary.title} {value:.4f}")
        else:
            lines.append(f"{contender.name}: failed, {contender.reason}")
    return lines


def winner(board: Leaderboard) -> dict[str, Any]:
    """Name of the winner, and its primary metric on the test split."""
    metric = board.primary_metric
    value = board.first.metrics[metric].value
    return {"winner": board.winner, "metric": metric, "value": value}


def failed(board: Leaderboard) -> str:
    """The trainings and their repeats that failed, with the reason; empty if none did.

    A failed baseline is only shown on the leaderboard.
    """
    trainings = [
        f"{contender.name} failed ({contender.reason})"
        for contender in board.contenders
        if contender.status != "ok" and contender.name.startswith("training/")
    ]
    others = []
    if repeats := board.repeats:
        others = [f"seed {o.seed} of {repeats.of} failed ({o.reason})" for o in repeats.failed]
    return "; ".join(trainings + others)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    became = " and reports its deployment" if experiment.deploy else ""
    yield "result", f"names the winner{became}; fails if a training is not on the leaderboard"


STAGE = Stage(
    name="result",
    where="Airflow",
    tasks=lambda dag: task(dag.experiment, dag.platform, dag.stages),
    page=_page,
    advice={
        "result": "The leaderboard exists. Clear the failed training, or the failed step of the "
        "deployment, to complete it."
    },
    linked=True,
)
