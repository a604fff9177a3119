"""The messages that reach Google, field by field, and that Google's own classes take them."""

import json
from datetime import timedelta

import pytest
from google.cloud.aiplatform_v1.types import Endpoint

from tests.trellis.workflow.plans import a_plan
from trellis.dataflow.jobs import LIMIT
from trellis.vertex.jobs import CUSTOM, TUNING, message_of
from trellis.workflow.contracts import layout
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.stages import compare, export, job_messages, train, tune
from trellis.workflow.stages.deploy import messages
from trellis.workflow.validation.file import with_changes
from trellis_contracts import VERSION, job_image

RUN = layout.Run("trellis-local", "digits", "demo")
NUMBERS = {
    ("task",): "regression",
    ("tune",): None,
    ("train",): {"minimize": "rmse", "epochs": 2},
    ("deploy",): None,
}
CHOSEN = {"rank": 1, "trial": "4", "parameters": {"learning_rate": 0.01, "filters": 32}}


@pytest.fixture
def plan(digits):
    return a_plan(digits, RUN)


@pytest.fixture
def changed(plan):
    """The plan of the experiment with some fields changed."""

    def change(changes):
        return a_plan(with_changes(plan.experiment, changes), RUN)

    return change


def flags(pool):
    return dict(a.removeprefix("--").split("=", 1) for a in pool.container_spec.args)


def test_a_trial_trains_for_a_few_epochs_and_writes_metrics_only(plan, group):
    job = message_of(TUNING, tune.job(plan, group), {})
    (pool,) = job.trial_job_spec.worker_pool_specs
    assert pool.machine_spec.machine_type == "n1-standard-4"
    assert pool.container_spec.image_uri == (
        "us-central1-docker.pkg.dev/local-gcp/trellis/trainer:0.1.0"
    )
    assert list(pool.container_spec.command) == ["python", "-m", "trainer.task"]
    assert flags(pool) == {
        "dataset": "gs://trellis-local/digits/datasets/3f2a/",
        "model": "convolutional",
        "task": "multiclass_classification",
        "metric": "accuracy",
        "epochs": "4",
        "seed": "0",
        "outputs": "metrics",
    }


def test_the_search_is_what_the_file_says(plan, group):
    job = message_of(TUNING, tune.job(plan, group), {})
    assert (job.max_trial_count, job.parallel_trial_count, job.max_failed_trial_count) == (6, 2, 3)
    (metric,) = job.study_spec.metrics
    assert (metric.metric_id, metric.goal.name) == ("accuracy", "MAXIMIZE")
    rate, filters, dropout = job.study_spec.parameters
    assert (rate.parameter_id, rate.scale_type.name) == ("learning_rate", "UNIT_LOG_SCALE")
    assert (rate.double_value_spec.min_value, rate.double_value_spec.max_value) == (3e-4, 1e-2)
    assert list(filters.discrete_value_spec.values) == [16, 32]
    assert dropout.scale_type.name == "UNIT_LINEAR_SCALE"
    assert job.study_spec.measurement_selection_type.name == "BEST_MEASUREMENT"
    assert job.trial_job_spec.base_output_directory.output_uri_prefix == RUN.tuning
    assert job.trial_job_spec.scheduling.strategy.name == "SPOT"
    assert job.trial_job_spec.scheduling.timeout.total_seconds() == 1800


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ({"from": 1, "to": 3}, {"integer_value_spec": {"min_value": 1, "max_value": 3},
                                "scale_type": "UNIT_LINEAR_SCALE"}),
        ({"choose": [3, 1]}, {"discrete_value_spec": {"values": [1, 3]}}),
    ],
)  # fmt: skip
def test_integers(changed, range_, expected):
    plan = changed({("tune", "search"): {"blocks": range_}})
    assert tune.study(plan.experiment)["parameters"] == [{"parameter_id": "blocks", **expected}]


def test_texts_and_switches_are_categories(changed):
    search = {"optimizer": {"choose": ["sgd", "adam"]}, "augment": {"choose": [True, False]}}
    spec = tune.study(changed({("tune", "search"): search}).experiment)
    values = [p["categorical_value_spec"]["values"] for p in spec["parameters"]]
    assert values == [["sgd", "adam"], ["true", "false"]]


def test_early_stopping_and_algorithm(changed, group):
    search = {"stop_early": True, "algorithm": "random", "measurement": "last"}
    plan = changed({("tune", name): value for name, value in search.items()})
    study = message_of(TUNING, tune.job(plan, group), {}).study_spec
    assert study.algorithm.name == "RANDOM_SEARCH"
    assert study.measurement_selection_type.name == "LAST_MEASUREMENT"
    assert "median_automated_stopping_spec" in study


def test_a_run_with_few_trials_fails_when_all_of_them_do(changed, group):
    few = changed({("tune", "trials"): 2})
    assert tune.job(few, group)["max_failed_trial_count"] == 2


def test_a_training_runs_on_all_its_workers(plan, group):
    job = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    chief, workers = job.job_spec.worker_pool_specs
    assert (chief.replica_count, workers.replica_count) == (1, 1)
    assert chief.container_spec == workers.container_spec
    assert flags(chief)["outputs"] == "all"
    assert flags(chief)["epochs"] == "25"
    assert flags(chief)["filters"] == "32"
    assert flags(chief)["learning_rate"] == "0.01"
    assert job.job_spec.base_output_directory.output_uri_prefix == RUN.training(1)
    assert job.job_spec.scheduling.restart_job_on_worker_restart
    assert job.display_name == "digits training/1 (trial 4)"


def test_a_training_alone_chooses_on_the_validation_split(changed, group):
    asked = {
        ("task",): "binary_classification",
        ("calibrate",): "temperature",
        ("decision",): {"cost": {"missed": 10, "false_alarm": 1}},
        ("abstain",): 0.1,
        ("coverage",): 0.9,
    }
    plan = changed(asked)
    job = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    given = flags(job.job_spec.worker_pool_specs[0])
    assert given["calibrate"] == "temperature"
    assert json.loads(given["decide"]) == {"cost": {"missed": 10, "false_alarm": 1}}
    assert (given["abstain"], given["coverage"]) == ("0.1", "0.9")
    trial = message_of(TUNING, tune.job(plan, group), {}).trial_job_spec
    assert {"calibrate", "decide", "abstain", "coverage"}.isdisjoint(
        flags(trial.worker_pool_specs[0])
    )


def test_parameter_servers_are_the_third_pool_and_a_lost_worker_is_replaced_alone(changed, group):
    servers = {"count": 2, "type": "n1-highmem-2"}
    machines = {"type": "n1-standard-8", "workers": 3, "parameter_servers": servers}
    plan = changed({("train", "machines"): machines})
    job = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    pools = job.job_spec.worker_pool_specs
    assert [(p.machine_spec.machine_type, p.replica_count) for p in pools] == [
        ("n1-standard-8", 1),
        ("n1-standard-8", 3),
        ("n1-highmem-2", 2),
    ]
    assert pools[0].container_spec == pools[1].container_spec == pools[2].container_spec
    assert not job.job_spec.scheduling.restart_job_on_worker_restart


@pytest.mark.parametrize(
    ("region", "registry"),
    [("us-central1", "us"), ("europe-west4", "europe"), ("asia-east1", "asia"), ("me-west1", "us")],
)
def test_reduction_servers_are_the_third_pool_with_googles_image(changed, group, region, registry):
    machines = {"type": "n1-standard-8", "gpu": "NVIDIA_TESLA_T4", "workers": 3, "spot": True}
    plan = changed({("train", "machines"): machines | {"reduction_servers": {"count": 4}}})
    group = group.model_copy(update={"region": region})
    job = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    chief, workers, reducers = job.job_spec.worker_pool_specs
    assert (chief.replica_count, workers.replica_count, reducers.replica_count) == (1, 2, 4)
    assert flags(chief)["strategy"] == flags(workers)["strategy"] == "reduction_server"
    assert chief.container_spec.image_uri.endswith("-gpu")
    assert reducers.machine_spec.machine_type == "n1-highcpu-16"
    assert not reducers.machine_spec.accelerator_count
    image = f"{registry}-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    assert reducers.container_spec.image_uri == image
    assert not reducers.container_spec.args
    assert job.job_spec.scheduling.restart_job_on_worker_restart


def test_a_repeat_has_a_seed_and_a_folder_of_its_own(plan, group):
    job = message_of(CUSTOM, train.job(plan, group, {**CHOSEN, "seed": 7}), {})
    for pool in job.job_spec.worker_pool_specs:
        assert list(pool.container_spec.args).count("--seed=7") == 1
        assert flags(pool)["learning_rate"] == "0.01"
    base = job.job_spec.base_output_directory.output_uri_prefix
    assert base == f"{RUN.training(1)}seeds/7/"
    assert job.display_name == "digits training/1/seeds/7 (trial 4)"


def test_only_the_first_training_writes_a_profile(changed, group):
    plan = changed({("train", "profile"): [10, 20]})

    def arguments(chosen):
        specs = message_of(CUSTOM, train.job(plan, group, chosen), {}).job_spec.worker_pool_specs
        return [flags(pool).get("profile") for pool in specs]

    assert set(arguments(CHOSEN)) == {"10-20"}
    assert set(arguments({**CHOSEN, "rank": 2})) == {None}
    assert set(arguments({**CHOSEN, "seed": 7})) == {None}


def test_a_training_on_one_machine_has_one_pool(changed, group):
    plan = changed({("train", "machines"): {"workers": 1}})
    job = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    assert len(job.job_spec.worker_pool_specs) == 1
    assert not job.job_spec.scheduling.restart_job_on_worker_restart
    assert job.job_spec.scheduling.strategy.name == "STANDARD"


def test_a_training_and_each_trial_queue_for_their_machines(changed, group):
    queued = {"type": "g2-standard-8", "gpu": "NVIDIA_L4", "wait": "2 days", "queue": "flex"}
    plan = changed({("train", "machines"): queued, ("tune", "machines"): queued})
    training = message_of(CUSTOM, train.job(plan, group, CHOSEN), {}).job_spec
    trial = message_of(TUNING, tune.job(plan, group), {}).trial_job_spec
    for spec in (training, trial):
        assert spec.scheduling.strategy.name == "FLEX_START"
        assert spec.scheduling.max_wait_duration == timedelta(days=2)


def test_a_wait_alone_is_not_a_queue(changed, group):
    plan = changed({("train", "machines"): {"wait": "2 days", "spot": True}})
    scheduling = message_of(CUSTOM, train.job(plan, group, CHOSEN), {}).job_spec.scheduling
    assert scheduling.strategy.name == "SPOT"
    assert "max_wait_duration" not in scheduling


def test_jobs_run_on_the_persistent_resource_that_the_file_names(changed, group):
    kept = {"type": "n1-standard-4", "persistent": "night-shift"}
    plan = changed({("tune", "machines"): kept, ("train", "machines"): kept})
    tuning = message_of(TUNING, tune.job(plan, group), {})
    training = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    assert tuning.trial_job_spec.persistent_resource_id == "night-shift"
    assert training.job_spec.persistent_resource_id == "night-shift"


def test_jobs_take_the_machines_of_the_reservation_that_the_file_names(changed, group):
    """Each pool of the workers' machines; servers are machines of another type."""
    kept = {"type": "n1-standard-4", "reservation": "us-central1-a/h100s"}
    servers = {"parameter_servers": {"count": 1}, "workers": 2}
    plan = changed({("tune", "machines"): kept, ("train", "machines"): kept | servers})
    tuning = message_of(TUNING, tune.job(plan, group), {})
    training = message_of(CUSTOM, train.job(plan, group, CHOSEN), {})
    (trial,) = tuning.trial_job_spec.worker_pool_specs
    *workers, server = training.job_spec.worker_pool_specs
    assert len(workers) == 2
    for pool in (trial, *workers):
        affinity = pool.machine_spec.reservation_affinity
        assert affinity.reservation_affinity_type.name == "SPECIFIC_RESERVATION"
        assert affinity.key == "compute.googleapis.com/reservation-name"
        address = f"projects/{group.project}/zones/us-central1-a/reservations/h100s"
        assert list(affinity.values) == [address]
    assert "reservation_affinity" not in server.machine_spec


def test_gpus_bring_their_image(changed, group):
    machines = {"type": "n1-standard-8", "gpu": "NVIDIA_TESLA_T4", "gpus": 2}
    plan = changed({("tune", "machines"): machines})
    job = message_of(TUNING, tune.job(plan, group), {})
    (pool,) = job.trial_job_spec.worker_pool_specs
    assert pool.machine_spec.accelerator_type.name == "NVIDIA_TESLA_T4"
    assert pool.machine_spec.accelerator_count == 2
    assert pool.container_spec.image_uri.endswith("/trainer:0.1.0-gpu")


def test_fixed_hyperparameters_reach_trials_and_trainings(changed, group):
    plan = changed({("hyperparameters",): {"batch_size": 64, "augment": True}})
    trial = message_of(TUNING, tune.job(plan, group), {}).trial_job_spec.worker_pool_specs[0]
    full = message_of(CUSTOM, train.job(plan, group, CHOSEN), {}).job_spec.worker_pool_specs[0]
    for pool in (trial, full):
        assert (flags(pool)["batch_size"], flags(pool)["augment"]) == ("64", "true")


def test_the_comparison_gets_the_run(plan, group):
    job = message_of(CUSTOM, compare.job(plan, group), {})
    (pool,) = job.job_spec.worker_pool_specs
    assert list(pool.container_spec.command) == ["python", "-m", "trainer.compare"]
    assert flags(pool) == {"run": RUN.uri, "metric": "accuracy"}


def test_every_job_knows_the_contracts_of_the_dags(plan, group):
    """The export has a flag: test_the_export_gets_source_settings_and_limits."""
    specs = [
        message_of(TUNING, tune.job(plan, group), {}).trial_job_spec,
        message_of(CUSTOM, train.job(plan, group, train.UNTUNED), {}).job_spec,
        message_of(CUSTOM, compare.job(plan, group), {}).job_spec,
    ]
    for pool in (pool for spec in specs for pool in spec.worker_pool_specs):
        assert {one.name: one.value for one in pool.container_spec.env} == {
            job_image.STARTED_BY: VERSION
        }


def test_the_export_gets_source_settings_and_limits(plan, group):
    launch = export.body(plan, group)["launchParameter"]
    assert launch["parameters"] == {
        "source": "gs://trellis-local/digits/datasets/3f2a/source/columns.json",
        "output": "gs://trellis-local/digits/datasets/3f2a/",
        "fingerprint": "3f2a",
        "shards": "4",
        "contracts": VERSION,
    }
    environment = launch["environment"]
    assert environment["maxWorkers"] == 2
    assert environment["additionalExperiments"] == [f"{LIMIT}=1800"]
    assert launch["containerSpec"]["image"].endswith("/trellis/export:0.1.0")


def test_the_groups_names_are_on_every_job(plan, group):
    platform = Platform.model_validate(
        {
            **group.model_dump(mode="json"),
            "service_account": "jobs@lab.iam.gserviceaccount.com",
            "tensorboard": "projects/lab/locations/us-central1/tensorboards/7",
            "network": "projects/1/global/networks/lab",
            "encryption_key": "projects/p/locations/l/keyRings/r/cryptoKeys/k",
            "labels": {"cost-center": "c1"},
        }
    )
    for spec, job in [
        ("trial_job_spec", message_of(TUNING, tune.job(plan, platform), {})),
        ("job_spec", message_of(CUSTOM, train.job(plan, platform, CHOSEN), {})),
        ("job_spec", message_of(CUSTOM, compare.job(plan, platform), {})),
    ]:
        assert getattr(job, spec).service_account == platform.service_account
        assert getattr(job, spec).network == platform.network
        # A comparison writes no logs for it.
        board = platform.tensorboard if "leaderboard" not in job.display_name else ""
        assert getattr(job, spec).tensorboard == board
        assert job.encryption_spec.kms_key_name == platform.encryption_key
        assert job.labels == {"cost-center": "c1", "experiment": "digits", "owner": "trellis"}
    environment = export.body(plan, platform)["launchParameter"]["environment"]
    assert environment["serviceAccountEmail"] == platform.service_account
    assert environment["kmsKeyName"] == platform.encryption_key
    assert environment["network"] == "lab"


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ({}, {}),
        ({"network": "projects/1/global/networks/lab"}, {"network": "lab"}),
        (
            {
                "network": "projects/1/global/networks/lab",
                "subnetwork": "regions/us-central1/subnetworks/jobs",
                "private_addresses": True,
            },
            {
                "subnetwork": "regions/us-central1/subnetworks/jobs",
                "ipConfiguration": "WORKER_IP_PRIVATE",
            },
        ),
    ],
)
def test_dataflow_gets_the_network_in_its_own_form(changed, group, keys, sent):
    """Vertex AI takes a resource name, Dataflow a bare name, or the subnetwork alone."""
    environment = export.body(changed({}), group.model_copy(update=keys))["launchParameter"][
        "environment"
    ]
    names = ("network", "subnetwork", "ipConfiguration")
    assert {name: environment[name] for name in names if name in environment} == sent


def test_a_private_endpoint_is_connected_to_the_groups_network(changed, group):
    """Not peered with it: a peered endpoint serves one model, and a canary needs two."""
    network = "projects/123/global/networks/lab"
    inside = group.model_copy(update={"network": network})
    private = changed({("deploy", "private"): True}).experiment
    sent = Endpoint(messages.endpoint(private, inside))
    config = sent.private_service_connect_config
    assert config.enable_private_service_connect
    assert list(config.project_allowlist) == ["local-gcp"]
    assert [a.network for a in config.psc_automation_configs] == [network]
    assert not sent.network
    public = Endpoint(messages.endpoint(changed({}).experiment, inside))
    assert not public.private_service_connect_config.enable_private_service_connect


def test_a_private_endpoint_needs_a_network(changed, group):
    private = changed({("deploy", "private"): True}).experiment
    with pytest.raises(PlatformError, match=r"platform.yaml names none"):
        job_messages.private_connection(private, group)


def test_labels_are_labels_whatever_the_owner_is_called(changed, group):
    plan = changed({("owner",): "Pathology Lab, Room 4"})
    assert job_messages.labels(plan.experiment, group)["owner"].startswith("pathology-lab-room-4-")
