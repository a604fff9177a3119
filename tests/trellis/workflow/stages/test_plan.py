"""The plan stage against a real Cloud Storage."""

import datetime
import json
import re
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.utils.types import DagRunType

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import CREATED, a_description, conf_of, plan_run
from trellis.workflow.assembly.chain import STAGES
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.lookups import bigquery_source, records
from trellis.workflow.pricing.cost import BudgetError
from trellis.workflow.spec.platform import Limits, PlatformError
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import baselines, tune
from trellis.workflow.stages.job_messages import training_arguments
from trellis.workflow.stages.plan import task
from trellis.workflow.validation.file import load, with_changes
from trellis_contracts import job_image
from trellis_contracts.withheld import shown

IMAGES = "".join(f"gs://trellis-local/digits/images/{n}.png,{n % 10}\n" for n in range(500))


@pytest.fixture
def bucket(google, group):
    """The group's bucket, with a manifest of 500 images in it; as a folder."""
    folder = google.buckets / group.bucket
    (folder / "digits").mkdir(parents=True, exist_ok=True)
    (folder / "digits/manifest.csv").write_text(IMAGES)
    return folder


@pytest.fixture
def plan(bucket, digits, group):
    """Plans a run of the demo's experiment with some parameters changed."""

    def plan(run_id="demo", interval=(None, None), **changes):
        return plan_run(digits, group, run_id, interval, **changes)

    return plan


def read(bucket, run_id="demo"):
    return json.loads((bucket / "digits/runs" / run_id / "plan.json").read_text())


def test_weights_are_of_classes_that_the_manifest_has(plan):
    plan(class_weights='{"9": 2}')
    with pytest.raises(SourceError, match=r"class_weights.*'nine'"):
        plan(class_weights='{"nine": 2}')


def test_a_run_beyond_the_months_limit_is_refused(bucket, digits, group):
    """Each run that is planned counts for the next, and none for its own planning anew."""
    limits = Limits.model_validate({"owners": {digits.owner: "3 USD"}})
    bounded = group.model_copy(update={"limits": limits, "bucket": bucket.name})
    made = plan_run(digits, bounded, "first")
    record = RunRecord.planned(made.file(), begun=records.now())
    records.begin(bounded, made.run, record)
    plan_run(digits, bounded, "first")
    with pytest.raises(BudgetError, match=r"runs of trellis in .* more than 3 USD a month"):
        plan_run(digits, bounded, "second")


def test_a_plan_says_what_the_run_will_do(plan, bucket):
    plan(trials=4, parallel=1)
    content = read(bucket)
    assert (content["schema"], content["experiment"], content["run_id"]) == (1, "digits", "demo")
    assert content["run"] == "gs://trellis-local/digits/runs/demo/"
    assert content["configuration"]["tune"]["trials"] == 4
    assert content["configuration"]["tune"]["timeout"] == "30 minutes"
    assert content["jobs"] == {
        "dataflow": 1,
        "tuning": 1,
        "custom": 3,
        "automl": 0,
        "batch": 0,
    }
    assert content["dataset"]["classes"] == {str(n): 50 for n in range(10)}
    assert not content["dataset"]["exists"]
    assert 0 < content["cost"]["at_most_usd"] < 2
    assert content["cost"]["serving"]["at_most_usd_per_day"] > 0
    assert content["configuration"]["deploy"]["canary"] == [10, 50, 100]
    assert content["data_interval"] == {"start": None, "end": None}


def test_an_own_model_is_written_once_by_its_content(bucket, digits, group, tmp_path):
    yaml = (ROOT / "dags/experiments/digits.yaml").read_text()
    yaml = yaml.replace("model: convolutional", "model: mine.py")
    (tmp_path / "digits.yaml").write_text(re.sub(r"(?m)^    (filters|dropout): .*\n", "", yaml))

    def planned(text, run_id):
        (tmp_path / "mine.py").write_text(text)
        experiment = load(tmp_path / "digits.yaml")
        made = plan_run(experiment, group, run_id)
        path = bucket / made.model_address.removeprefix(f"gs://{group.bucket}/")
        assert path.read_text() == text
        assert read(bucket, run_id)["model_files"]["mine.py"]["uri"] == made.model_address
        return path

    first = planned("def build(dataset, hyperparameters): ...\n", "own-1")
    written = first.stat().st_mtime_ns
    assert planned(first.read_text(), "own-2") == first
    assert first.stat().st_mtime_ns == written
    assert planned("def build(dataset, h): ...\n", "own-3") != first


def test_a_run_that_deploys_nothing_says_so(plan, bucket):
    plan("no-deployment", deploy=False)
    content = read(bucket, "no-deployment")
    assert "deploy" not in content["configuration"]
    assert content["cost"]["serving"] is None


def test_a_scheduled_run_has_its_interval(plan, bucket):
    plan("weekly", (CREATED, CREATED + datetime.timedelta(days=7)))
    assert read(bucket, "weekly")["data_interval"] == {
        "start": "2025-01-01T00:00:00+00:00",
        "end": "2025-01-08T00:00:00+00:00",
    }


def test_planning_again_gives_the_same_plan(plan, bucket):
    first, content = plan(), read(bucket)
    assert plan() == first
    assert read(bucket) == content


def test_the_jobs_are_made_from_the_runs_parameters(plan, group):
    planned = plan(trials=3, tune_epochs=1, parallel=3)
    job = tune.job(planned, group)
    assert (job["max_trial_count"], job["parallel_trial_count"]) == (3, 3)
    (pool,) = job["trial_job_spec"]["worker_pool_specs"]
    assert "--epochs=1" in pool["container_spec"]["args"]
    assert f"--dataset={planned.dataset.uri}" in pool["container_spec"]["args"]


def test_a_dataset_that_is_there_is_not_planned_again(plan, bucket):
    planned = plan()
    folder = bucket / planned.dataset.uri.removeprefix("gs://trellis-local/")
    folder.mkdir(parents=True)
    (folder / "dataset.json").write_text(a_description(500).to_json())
    assert plan("second").dataset.uri == planned.dataset.uri
    content = read(bucket, "second")
    assert content["dataset"]["exists"]
    assert content["jobs"]["dataflow"] == 0
    # Each of two workers has 250 images of 64 bytes, with a class and a weight.
    assert content["shares"]["train"] == {"bytes": 250 * (64 + 8 + 4), "kept": "in memory"}


def test_a_manifest_that_is_uploaded_again_is_another_dataset(plan, google, group):
    from trellis.workflow.lookups import storage

    first = plan().dataset.fingerprint
    storage.blob(group, f"gs://{group.bucket}/digits/manifest.csv").upload_from_string(IMAGES)
    assert plan().dataset.fingerprint != first


def test_images_by_another_rule_of_the_trainer_are_another_dataset(plan, monkeypatch):
    first = plan().dataset.fingerprint
    monkeypatch.setattr(bigquery_source, "IMAGE_RULE", bigquery_source.IMAGE_RULE + 1)
    assert plan("second").dataset.fingerprint != first


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"source": "nowhere.csv"}, SourceError, "no manifest.*gs://trellis-local/nowhere.csv"),
        ({"source": "gs://no-bucket/m.csv"}, SourceError, "no bucket gs://no-bucket"),
        ({"top": 7}, FileError, "the best 7 of 6 trials"),
        ({"parallel": 7}, FileError, "7 of only 6 trials"),
        ({"workers": 5}, FileError, "got 4 for 5 workers"),
        ({"budget": "1 USD"}, BudgetError, r"may cost at most 2\.17 USD .* budget is 1 USD"),
        ({"trials": 100}, BudgetError, "fewer trials"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    plan, bucket, changes, error, message
):
    with pytest.raises(error, match=message):
        plan("refused", **changes)
    assert not (bucket / "digits/runs/refused").exists()


def test_a_group_without_its_bucket_is_told_so(bucket, digits, group):
    missing = group.model_copy(update={"bucket": "no-such-bucket"})
    with pytest.raises(PlatformError, match=r"gs://no-such-bucket.*platform\.yaml"):
        plan_run(digits, missing, "refused")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("gs://bkt/1.png\n" * 5, "label column is missing"),
        ("image,label\n" + IMAGES, "name no image: 'image,label'"),
        (b"\xff\xfe", "UTF-8|utf-8"),
        ("gs://bkt/\ufffd.png,a\n" + IMAGES, "UTF-8"),
        ("train," + IMAGES, "on every line or on none"),
        ("house,gs://bkt/1.png,a\n" + IMAGES, "none of TRAIN"),
        ("gs://bkt/1.png,a\n" * 5, "4 of 5 lines would be rejected(.|\n)*on another line"),
        (IMAGES + "gs://bkt/1.png,\n" * 50, "50: no label"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(plan, bucket, text, message):
    content = text if isinstance(text, bytes) else text.encode()
    (bucket / "digits/bad.csv").write_bytes(content)
    with pytest.raises(SourceError) as refused:
        plan(source="digits/bad.csv")
    assert re.search(message, shown(refused.value.text))


@pytest.mark.parametrize(
    ("kind", "conf", "deploys"),
    [
        ("scheduled", {}, True),
        ("backfill", {}, False),
        ("backfill", {"deploy_backfill": True}, True),
    ],
)
def test_a_run_of_a_backfill_deploys_nothing_unless_told_to(
    bucket, digits, group, kind, conf, deploys
):
    with DAG("digits") as dag:
        operator = task(digits, group, STAGES).operator
    params = conf_of(digits, **conf)
    dag_run = SimpleNamespace(
        run_type=DagRunType(kind), run_after=CREATED, triggering_user_name=None
    )
    run_id = f"{kind}-{deploys}"
    operator.python_callable(params=params, run_id=run_id, dag=dag, dag_run=dag_run)
    assert ("deploy" in read(bucket, run_id)["configuration"]) == deploys
    record = json.loads((bucket / f"_index/digits/runs/{run_id}.json").read_text())
    assert record["trigger"] == kind


@pytest.fixture
def backbone(digits):
    """A function: weights, what is searched -> the demo's experiment with a backbone."""

    def backbone(weights, **search):
        changes = {
            ("model",): "backbone",
            ("source", "size"): 32,
            ("hyperparameters",): {"weights": weights},
            ("tune", "search"): {"dropout": {"from": 0, "to": 0.5}, **search},
        }
        return with_changes(digits, changes)

    return backbone


def test_weights_that_are_not_in_the_bucket_are_refused_with_a_remedy(bucket, backbone, group):
    choice = {"backbone": {"choose": ["ResNet50", "DenseNet121"]}}
    (bucket / "_weights").mkdir(exist_ok=True)
    (bucket / "_weights/ResNet50.weights.h5").write_bytes(b"weights")
    with pytest.raises(SourceError) as error:
        plan_run(backbone("imagenet", **choice), group, "demo")
    file = "gs://trellis-local/_weights/DenseNet121.weights.h5"
    assert f"there is no {file}, and jobs download nothing" in str(error.value)
    command = "python -m trainer weights DenseNet121 && gcloud storage cp DenseNet121.weights.h5"
    assert f"{command} {file}" in str(error.value)
    (bucket / "_weights/DenseNet121.weights.h5").write_bytes(b"weights")
    plan = plan_run(backbone("imagenet", **choice), group, "demo")
    flags = training_arguments(plan, 3, "all", {})
    assert "--weights=gs://trellis-local/_weights/" in flags


def test_weights_elsewhere_are_looked_for_there(bucket, backbone, group):
    with pytest.raises(SourceError, match=r"there is no gs://trellis-local/w\.h5"):
        plan_run(backbone("gs://trellis-local/w.h5"), group, "demo")


def test_a_file_of_predictions_is_there_before_the_run_and_copied_to_it(bucket, digits, group):
    """Planned as a baseline; the run has the file as it was then."""
    ours = with_changes(digits, {("baselines", "files"): {"lab_xgb": "lab/one.parquet"}})
    with pytest.raises(SourceError, match=r"files\.lab_xgb.*lab/one\.parquet"):
        plan_run(ours, group, "filed")
    (bucket / "lab").mkdir()
    (bucket / "lab/one.parquet").write_bytes(b"first")
    made = plan_run(ours, group, "filed")
    assert made.baselines == ("file-lab_xgb",)
    assert "check_files" in made.cost["stages"]
    (bucket / "lab/one.parquet").write_bytes(b"second")
    found = baselines.record(made, group, "file-lab_xgb", ti=None)
    assert (found.kind, found.status) == ("file", "succeeded")
    assert found.model == f"gs://{group.bucket}/lab/one.parquet"
    copied = bucket / "digits/runs/filed/baselines/file-lab_xgb/raw/predictions.parquet"
    assert copied.read_bytes() == b"first"


def test_an_image_that_is_not_in_the_registry_is_refused_before_anything_is_read(
    bucket, digits, group
):
    """Ours and one's own, whichever job needs it; one of another version, by its tag."""
    elsewhere = group.model_copy(update={"registry": "us-central1-docker.pkg.dev/no/where"})
    with pytest.raises(PlatformError) as refused:
        plan_run(digits, elsewhere, "nowhere")
    for name in ("trainer", "serve", "export"):
        assert f"us-central1-docker.pkg.dev/no/where/{name}:{job_image.TAG}" in str(refused.value)
    own = digits.model_copy(update={"image": "deep", "image_files": {"deep": "a" * 64}})
    with pytest.raises(PlatformError, match=rf"/deep:{job_image.TAG}-a{{12}}, of this version"):
        plan_run(own, group, "own")
    assert not (bucket / "digits/runs/own").exists()


def test_a_programs_image_that_is_not_in_its_registry_is_refused(bucket, group):
    address = "us-central1-docker.pkg.dev/no/where/program:3"
    shipped = load(ROOT / "dags/experiments/neighbours.yaml")
    with pytest.raises(PlatformError, match=rf"no image {address}, .* build and push it"):
        plan_run(with_changes(shipped, {("image",): address}), group, "program")
    assert not (bucket / "neighbours/runs/program").exists()


def test_the_plan_has_the_digests_of_the_runs_images(plan, bucket, group):
    made = plan()
    assert {
        address.removeprefix(f"{group.registry}/").split(":")[0] for address in made.images
    } == ({"trainer", "serve", "export"})
    assert read(bucket)["images"] == made.images
    assert all(digest.startswith("sha256:") for digest in made.images.values())
