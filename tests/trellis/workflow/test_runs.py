"""Whole runs of the DAG, those that go wrong above all, with a stand-in for the trainer."""

import json
import shutil
from collections import Counter

import pytest

from tests.airflow_side import clear_and_go_on, clear_and_run, run_dag
from tests.trellis.workflow.whole_runs import (
    PROVEN,
    a_dag,
    folder,
    jobs,
    rendered,
    said,
    states,
)
from tests.wording import says

__all__ = ["a_dag", "folder"]

"""A registry that tells the digests of its images."""


def test_a_run_its_repetition_and_the_next_run(google, a_dag, folder):
    dag = a_dag()
    run = run_dag(dag)
    assert states(run) == dict.fromkeys(
        [
            "plan",
            "snapshot",
            "check",
            "extract",
            "export",
            "changes",
            "tune",
            "choose",
            "train 0",
            "train 1",
            "trained",
            "compare",
            "result",
        ],
        "success",
    )
    trials = json.loads((folder(dag) / "trials.json").read_text())
    best, other = trials["chosen"]
    assert (best["rank"], other["rank"]) == (1, 2)
    assert best["value"] == pytest.approx(best["parameters"]["learning_rate"])
    assert best["value"] >= other["value"]
    labels = {ti.rendered_map_index for ti in run.get_task_instances() if ti.task_id == "train"}
    assert labels == {f"training/{w['rank']} (trial {w['trial']})" for w in trials["chosen"]}
    planned = json.loads((folder(dag) / "plan.json").read_text())["jobs"]
    made = [job["kind"] for job in jobs(google, dag)]
    assert {kind: made.count(kind) for kind in planned} == planned

    # Each job is shown in the UI as it was asked for.
    assert rendered(run, "tune")["hyperparameter_tuning_job"]["max_trial_count"] == 3
    for rank in (1, 2):
        job = rendered(run, f"train {rank - 1}")["custom_job"]
        output = job["job_spec"]["base_output_directory"]["output_uri_prefix"]
        assert output.endswith(f"/runs/{folder(dag).name}/training/{rank}/")
    assert rendered(run, "export")["commit_mark"].endswith("/dataset.json")

    # The index has its record.
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    record = json.loads((index / f"{folder(dag).name}.json").read_text())
    assert (record["run_id"], record["owner"]) == (run.run_id, "trellis")
    assert record["tags"] == ["convolutional", "multiclass_classification", "research"]
    assert record["result"]["winner"] == "training/1"
    assert record["result"]["value"] == best["value"]
    # Each job has cost something, and no more than the plan's bound, which is of cents.
    bounds = json.loads((folder(dag) / "plan.json").read_text())["cost"]["stages"]
    actual = record["result"]["actual_usd"]
    assert actual.keys() == bounds.keys() == {"snapshot", "export", "tune", "train", "compare"}
    assert all(usd > 0 and round(usd, 2) <= bounds[stage] for stage, usd in actual.items()), actual

    # Clearing what is done costs nothing.
    assert clear_and_run(dag, run) == dict.fromkeys(dag.task_ids, "success")
    assert len(jobs(google, dag)) == len(made)

    # The next run finds the dataset.
    second = run_dag(dag)
    assert second.state == "success"
    assert states(second)["export"] == "skipped"
    # It searches and trains all the same.
    kinds = Counter(job["kind"] for job in jobs(google, dag))
    assert kinds == {"dataflow": 1, "tuning": 2, "custom": 2 * made.count("custom")}


def test_a_run_takes_what_an_earlier_one_has_done_and_makes_no_job_for_it(google, a_dag, capfd):
    dag = a_dag(registry=PROVEN, changes={("train", "seeds"): 2})
    ended = states(run_dag(dag))
    made = [job["name"] for job in jobs(google, dag)]
    runs = google.buckets / "runs-tests" / dag.dag_id / "runs"
    (earlier,) = runs.iterdir()
    capfd.readouterr()

    second = run_dag(dag, reuse=True)
    assert second.state == "success", states(second)
    assert states(second) == {**ended, "export": "skipped"}
    (own,) = set(runs.iterdir()) - {earlier}
    plan = json.loads((own / "plan.json").read_text())
    best = json.loads((own / "leaderboard/leaderboard.json").read_text())["winner"]
    steps = ["tuning", "training/1", "training/2", f"{best}/seeds/1"]
    gone = {step: f"gs://runs-tests/{dag.dag_id}/runs/{earlier.name}/{step}/" for step in steps}
    assert plan["reuse"]["steps"] == gone
    # The comparison alone is new.
    assert len(jobs(google, dag)) == len(made) + 1
    assert plan["jobs"] == {"dataflow": 0, "tuning": 0, "custom": 1, "automl": 0, "batch": 0}
    stages = plan["cost"]["stages"]
    assert stages["tune"] == stages["train"] == stages["repeat"] == 0 < stages["compare"]
    for name in ("trials.json", *(f"{step}/metrics.json" for step in steps[1:])):
        assert (own / name).read_bytes() == (earlier / name).read_bytes()
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    actual = json.loads((index / f"{own.name}.json").read_text())["result"]["actual_usd"]
    assert actual["tune"] == actual["train"] == actual["repeat"] == 0 < actual["compare"]
    labels = {ti.rendered_map_index for ti in second.get_task_instances() if ti.task_id == "train"}
    assert all(label.endswith(", reused") for label in labels)
    assert f"Reused, no job: training/1 from {gone['training/1']}" in capfd.readouterr().out

    # Cleared, and without the earlier run, it has its own copies.
    shutil.rmtree(earlier)
    (index / f"{earlier.name}.json").unlink()
    again = clear_and_run(dag, second)
    assert again == {**dict.fromkeys(dag.task_ids, "success"), "export": "skipped"}
    assert len(jobs(google, dag)) == len(made) + 1


def test_a_run_without_a_search_trains_with_the_files_hyperparameters_and_each_seed(
    google, a_dag, folder, digits
):
    changes = {
        ("tune",): None,
        ("train", "maximize"): "balanced_accuracy",
        ("train", "top"): 1,
        ("train", "seeds"): 2,
        ("hyperparameters",): {"learning_rate": 0.007},
    }
    dag = a_dag(changes=changes)
    assert not {"trials", "parallel", "tune_epochs", "top"} & dag.params.keys()
    assert dag.params["learning_rate"] == 0.007
    run = run_dag(dag)
    repeats = ["select", "repeat 0", "repeated"]
    rows = ["plan", "snapshot", "check", "extract", "export", "changes"]
    names = [*rows, "train 0", "trained", *repeats, "compare", "result"]
    assert states(run) == dict.fromkeys(names, "success")
    # The export, the training with both seeds, and the comparison.
    made = sorted(job["kind"] for job in jobs(google, dag))
    assert made == ["custom", "custom", "custom", "dataflow"]
    seeds = [
        json.loads((folder(dag) / name / "metrics.json").read_text())["seed"]
        for name in ("training/1", "training/1/seeds/1")
    ]
    assert seeds == [0, 1]
    arguments = rendered(run, "train 0")["custom_job"]["job_spec"]["worker_pool_specs"][0]
    assert "--learning_rate=0.007" in str(arguments)
    assert "--metric=balanced_accuracy" in str(arguments)
    plan = json.loads((folder(dag) / "plan.json").read_text())
    assert (plan["jobs"]["tuning"], plan["jobs"]["custom"]) == (0, 3)
    assert plan["cost"]["stages"]["repeat"] == plan["cost"]["stages"]["train"]
    assert plan["rates"].keys() == {"training"}
    assert "tune" not in plan["cost"]["stages"]


def test_an_ensemble_that_fails_is_in_the_report(google, a_dag, folder):
    dag = a_dag(seed=6, changes={("train", "ensemble"): True, ("train", "seeds"): 2})
    ended = states(run_dag(dag))
    assert ended.pop("ensemble") == ended.pop("result") == "failed"
    assert set(ended.values()) == {"success"}
    board = json.loads((folder(dag) / "leaderboard/leaderboard.json").read_text())
    status = {contender["name"]: contender["status"] for contender in board["contenders"]}
    assert status == {"training/1": "ok", "training/2": "ok", "training/ensemble": "failed"}
    # Two trainings, the repeat, the ensemble, and the comparison.
    plan = json.loads((folder(dag) / "plan.json").read_text())
    assert plan["jobs"]["custom"] == 5


def test_several_models_have_a_search_each_one_leaderboard_and_one_mean(google, a_dag, folder):
    others = {
        "residual": {"search": {"learning_rate": {"from": 0.01, "to": 0.1}}},
        "dense": {"hyperparameters": {"units": 8, "learning_rate": 0.005}},
    }
    changes = {("other_models",): others, ("train", "ensemble"): True, ("budget",): "3 USD"}
    dag = a_dag(changes=changes)
    run = run_dag(dag)
    ended = states(run)
    assert set(ended.values()) == {"success"}
    assert ended.keys() >= {"tune", "tune_residual", "choose", *(f"train {n}" for n in range(5))}
    assert "tune_dense" not in ended
    # Two searches, the best two of each and the only training of the third, their mean, and the
    # comparison.
    made = [job["kind"] for job in jobs(google, dag)]
    assert sorted(made) == [*["custom"] * 7, "dataflow", "tuning", "tuning"]
    own = folder(dag)
    plan = json.loads((own / "plan.json").read_text())
    assert (plan["jobs"]["tuning"], plan["jobs"]["custom"]) == (2, 7)

    first, second = (own / name for name in ("trials.json", "tuning/residual/trials.json"))
    chosen = [json.loads(path.read_text())["chosen"] for path in (first, second)]
    assert [[trial["rank"] for trial in each] for each in chosen] == [[1, 2], [3, 4]]
    assert chosen[1][0]["parameters"].keys() == {"learning_rate"}
    assert (own / "tuning/residual/1/metrics.json").exists()
    arguments = [str(rendered(run, f"train {n}")["custom_job"]) for n in range(5)]
    models = ["convolutional"] * 2 + ["residual"] * 2 + ["dense"]
    assert all(f"--model={model}" in each for model, each in zip(models, arguments, strict=True))
    assert "--units=8" in arguments[4]
    board = json.loads((own / "leaderboard/leaderboard.json").read_text())
    trained = [f"training/{rank}" for rank in range(1, 6)]
    status = {contender["name"]: contender["status"] for contender in board["contenders"]}
    assert status == dict.fromkeys([*trained, "training/ensemble"], "ok")
    assert plan["cost"]["stages"]["ensemble"] == plan["cost"]["stages"]["compare"] > 0
    assert "ensemble" in {each["labels"]["airflow-task"] for each in jobs(google, dag)}
    mean = json.loads((own / "training/ensemble/metrics.json").read_text())
    assert mean["hyperparameters"] == {"members": "5"}
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    actual = json.loads(next(index.iterdir()).read_text())["result"]["actual_usd"]
    assert actual["tune"] > 0


def losses_of(run_folder):
    """Return the losses in trials.json, over the best epoch's of the stand-in for the trainer."""
    trials = json.loads((run_folder / "trials.json").read_text())
    losses = {trial["id"]: trial["final"]["loss"] for trial in trials["trials"]}
    assert [t["value"] for t in trials["chosen"]] == [1.0, 1.0]
    assert [t["trial"] for t in trials["chosen"]] == sorted(losses, key=losses.get)[:2]
    best = {t["id"]: 1 - t["parameters"]["learning_rate"] for t in trials["trials"]}
    return [losses[name] / best[name] for name in losses]


@pytest.mark.slow
def test_of_equal_trials_the_best_epochs_loss_decides(google, a_dag, folder):
    """Vertex AI has no loss of a trial: it is read from what the trial has written."""
    dag = a_dag(seed=5)
    run_dag(dag)
    assert losses_of(folder(dag)) == pytest.approx([1, 1, 1])


@pytest.mark.slow
def test_of_equal_trials_the_last_epochs_loss_decides(google, a_dag, folder):
    dag = a_dag(seed=5, measurement="last")
    run_dag(dag)
    assert losses_of(folder(dag)) == pytest.approx([2, 2, 2])


def test_an_unknown_parameter_is_refused_before_anything_is_spent(google, a_dag, capfd):
    """Airflow takes every key in conf; ignored, it would train with another learning rate."""
    dag = a_dag()
    run = run_dag(dag, learning_rte=0.1)
    assert states(run)["plan"] == "failed"
    assert jobs(google, dag) == []
    out = capfd.readouterr().out
    reason = "Refused, nothing was spent. The parameters of this run of"
    assert says(out[out.index(reason) :], "learning_rte", "'learning_rate'")
    # On top of the log, not below the traceback.
    assert out.index(reason) < out.index("Task failed with exception")


def test_a_run_that_only_plans_is_green_and_leaves_nothing(google, a_dag, capfd):
    dag = a_dag(deploy={"gate": {"require": {"accuracy": 0.9}}})
    run = run_dag(dag, dry_run=True, filters=64)
    assert run.state == "success"
    found = states(run)
    assert found.pop("plan") == "success"
    assert set(found.values()) == {"skipped"}
    assert len(found) == len(dag.task_ids) - 1
    assert jobs(google, dag) == []
    assert not (google.buckets / "runs-tests" / dag.dag_id).exists()
    assert not (google.buckets / "runs-tests/_index" / dag.dag_id).exists()
    out = capfd.readouterr().out
    assert "Only planned (dry_run): nothing ran" in out
    assert says(out, "maximize accuracy", "learning_rate, dropout")
    told = run.get_task_instance("plan").xcom_pull(task_ids="plan")["dry_run"]
    assert told[-2].startswith("One run costs at most ")
    assert says(told[-1], "on-demand prices of us-central1")


def test_a_run_of_folds_that_only_plans_is_green(google, a_dag):
    """Searches have one instance for each fold, and one to deploy."""
    folds = {("train", "folds"): 3, ("source", "split"): None, ("budget",): "9 USD"}
    run = run_dag(a_dag(changes=folds), dry_run=True)
    assert run.state == "success"
    found = Counter((ti.task_id, ti.state) for ti in run.get_task_instances())
    assert found[("tune", "skipped")] == 4
    assert {state for name, state in found if name != "plan"} == {"skipped"}


@pytest.mark.slow
def test_a_run_that_promotes_nothing_is_green(google, a_dag, folder, capfd):
    """A learning rate is no good accuracy."""
    dag = a_dag(deploy={"gate": {"require": {"accuracy": 0.9}}})
    run = run_dag(dag)
    assert run.state == "success"
    found = states(run)
    assert {found.pop(name) for name in ("served", "promote", "settled", "result")} == {"success"}
    behind = {name: state for name, state in found.items() if name.startswith("deploy")}
    assert set(behind.values()) == {"skipped"}
    promote = next(ti for ti in run.get_task_instances() if ti.task_id == "promote")
    assert promote.xcom_pull(task_ids="promote")["promoted"] is False
    assert says(said(run), "training/1 is not promoted", "accuracy is 0.")
    out = capfd.readouterr().out
    assert says(out, "FAILED: accuracy at least 0.9", "accuracy 0.")
    assert "Nothing is served: " in out


@pytest.mark.slow
def test_a_run_that_promotes_serves_its_model(google, a_dag, folder):
    dag = a_dag(deploy={"gate": {"require": {"accuracy": 1e-9}}, "canary": [100]})
    run = run_dag(dag)
    assert run.state == "success"
    assert says(said(run), "training/1", "deployed: projects/")
    served = json.loads((folder(dag) / "served.json").read_text())
    assert served["model"] is None

    # Cleared as a whole, it finds its own model in service and everything done.
    made = len(jobs(google, dag))
    again = clear_and_go_on(dag, run)
    assert again.state == "success"
    assert said(again) == said(run)
    assert len(jobs(google, dag)) == made
