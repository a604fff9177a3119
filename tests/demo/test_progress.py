"""Output of the demo for given answers of Airflow and local_gcp."""

import io

from rich.console import Console

from demo.progress import drawing, news, snapshot
from tests.wording import says

RUN = {"dag_id": "digits", "state": "running", "start_date": "2026-01-05T10:00:00.5Z"}
ORDER = ["plan", "tune", "train"]


def task(task_id, state, map_index=-1, label=None):
    return {
        "task_id": task_id,
        "state": state,
        "map_index": map_index,
        "rendered_map_index": label,
    }


def replica(kind, index, state, last_line):
    return {"type": kind, "index": index, "state": state, "last_line": last_line}


def job(created, **more):
    named = {"name": "customJobs/1", "display_name": "digits-train", "kind": "custom"}
    named |= {"labels": {"airflow-dag": "digits"}}
    return {"create_time": created, **named, **more}


TRIAL = {
    "id": "1",
    "state": "ACTIVE",
    "parameters": {"learning_rate": 0.012345, "units": 32},
    "metrics": {"accuracy": [[1, 0.5], [2, 0.91]]},
}


def test_stages_are_listed_in_the_order_of_the_dag_with_plain_words():
    tasks = [task("train", None), task("tune", "deferred"), task("plan", "success")]
    stages = snapshot(RUN, tasks, [], ORDER).stages
    assert [(s.name, s.state) for s in stages] == [
        ("plan", "done"),
        ("tune", "running"),
        ("train", "waiting"),
    ]


def test_a_mapped_training_is_named_by_its_label():
    tasks = [task("train", "running", 0, "rank 1, trial 4"), task("train", "queued", 1)]
    assert [s.name for s in snapshot(RUN, tasks, [], ORDER).stages] == [
        "train [rank 1, trial 4]",
        "train [1]",
    ]


def test_a_trial_shows_its_last_measurement_and_its_parameters():
    tuning = job("2026-01-05T10:00:09Z", kind="tuning", trials=[TRIAL], replicas=[])
    (work,) = snapshot(RUN, [], [tuning], ORDER).work
    assert (work.name, work.state) == ("trial 1", "active")
    assert work.latest.split()[:2] == ["accuracy", "0.9100"]
    assert says(work.latest, "epoch 2", "learning_rate=0.0123", "units=32")


def test_each_replica_of_a_training_shows_its_last_line():
    training = job(
        "2026-01-05T10:01:00Z",
        replicas=[
            replica("chief", 0, "running", "epoch 3/25 loss 0.2"),
            replica("worker", 0, "running", None),
        ],
    )
    work = snapshot(RUN, [], [training], ORDER).work
    assert [(w.name, w.latest) for w in work] == [
        ("digits-train chief:0", "epoch 3/25 loss 0.2"),
        ("digits-train worker:0", ""),
    ]


def test_what_libraries_log_is_not_shown():
    cuda = "I0000 00:00:1795258592.110086   21974 cudart_stub.cc:31] Could not find cuda drivers"
    training = job("2026-01-05T10:01:00Z", replicas=[replica("chief", 0, "running", cuda)])
    (work,) = snapshot(RUN, [], [training], ORDER).work
    assert work.latest == ""


def test_jobs_of_earlier_runs_are_not_shown():
    old = job("2026-01-05T09:59:59Z", replicas=[replica("chief", 0, "succeeded", "bye")])
    assert snapshot(RUN, [], [old], ORDER).work == []


def test_jobs_of_other_experiments_are_not_shown():
    replicas = [replica("chief", 0, "running", "epoch 1")]
    other = job("2026-01-05T10:01:00Z", replicas=replicas, labels={"airflow-dag": "patients"})
    nobodys = job("2026-01-05T10:01:00Z", replicas=replicas, labels={})
    assert snapshot(RUN, [], [other, nobodys], ORDER).work == []


def test_a_run_that_has_not_started_has_no_jobs():
    old = job("2026-01-05T09:59:59Z", replicas=[replica("chief", 0, "succeeded", "bye")])
    queued = RUN | {"state": "queued", "start_date": None}
    assert snapshot(queued, [], [old], ORDER).work == []


def deployed(version, traffic, state, last_line=""):
    return {
        "name": f"projects/p/locations/r/endpoints/digits/deployedModels/{version}",
        "display_name": "digits",
        "kind": "endpoint",
        "labels": {"trellis-experiment": "digits"},
        "model": f"projects/p/locations/r/models/digits@{version}",
        "create_time": f"2026-01-05T0{version}:00:00Z",
        "traffic": traffic,
        "replicas": [replica("replica", 0, state, last_line)],
    }


def test_the_endpoint_shows_old_and_new_model_with_their_shares():
    jobs = [deployed(1, 90, "ready"), deployed(2, 10, "ready"), deployed(3, 0, "starting", "load")]
    work = snapshot(RUN, [], jobs, ORDER).work
    assert [(w.name, w.state, w.latest) for w in work] == [
        ("serving digits@1 replica:0", "ready", "90% of the requests"),
        ("serving digits@2 replica:0", "ready", "10% of the requests"),
        ("serving digits@3 replica:0", "starting", "load"),
    ]


def test_the_dags_prefix_is_not_part_of_the_experiments_name():
    (work,) = snapshot({**RUN, "dag_id": "lab-digits"}, [], [deployed(1, 9, "ready")], ORDER).work
    assert work.name == "serving digits@1 replica:0"


def test_other_experiments_endpoints_are_not_shown():
    other = deployed(1, 100, "ready") | {"labels": {"trellis-experiment": "breast-cancer"}}
    assert snapshot(RUN, [], [other], ORDER).work == []


def test_plain_lines_tell_only_what_changed():
    before = snapshot(RUN, [task("plan", "running")], [], ORDER)
    now = snapshot(RUN, [task("plan", "success"), task("tune", None)], [], ORDER)
    assert list(news(before, now)) == ["plan: done"]
    assert list(news(now, now)) == []


def test_jobs_of_the_same_name_are_told_apart():
    first = job("2026-01-05T10:01:00Z", name="customJobs/1", replicas=[])
    second = job("2026-01-05T10:02:00Z", name="customJobs/2", replicas=[])
    jobs = [first | {"state": "SUCCEEDED"}, second | {"state": "RUNNING"}]
    before = snapshot(RUN, [], jobs, ORDER)
    assert list(news(before, snapshot(RUN, [], jobs, ORDER))) == []


def test_a_long_last_line_is_cut():
    training = job("2026-01-05T10:01:00Z", replicas=[replica("chief", 0, "running", "word " * 99)])
    (work,) = snapshot(RUN, [], [training], ORDER).work
    assert len(work.latest) <= 120
    assert work.latest.endswith(" ...")


def drawn(runs, seconds):
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(drawing(runs, seconds))
    return console.export_text()


def test_the_drawing_names_every_stage_and_trial():
    tuning = job("2026-01-05T10:00:09Z", kind="tuning", trials=[TRIAL], replicas=[])
    text = drawn({"digits": snapshot(RUN, [task("tune", "deferred")], [tuning], ORDER)}, 83)
    for part in ("digits is running", "active", "1:23", "tune", "trial 1"):
        assert part in text


def test_the_first_run_that_goes_on_is_drawn_in_full_and_others_in_a_line():
    going = [task("plan", "success"), task("tune", "deferred"), task("train", None)]
    ended = snapshot(RUN | {"state": "success"}, [task("plan", "success")], [], ORDER)
    runs = {"a": ended, "b": snapshot(RUN, going, [], ORDER), "c": snapshot(RUN, going, [], ORDER)}
    assert [line.split() for line in drawn(runs, 83).splitlines()] == [
        ["1:23"],
        ["a", "is", "success"],
        ["c", "is", "running:", "tune"],
        ["b", "is", "running"],
        ["plan", "done"],
        ["tune", "running"],
        ["train", "waiting"],
    ]
