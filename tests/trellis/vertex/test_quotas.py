from google.cloud.aiplatform_v1.types import BatchPredictionJob, CustomJob, TrainingPipeline

from trellis.vertex import quotas
from trellis.vertex.jobs import BATCH, CUSTOM, PIPELINE


def test_each_pool_of_a_job_takes_from_the_quotas_of_its_machines():
    workers = {"machine_type": "a2-highgpu-1g", "accelerator_type": 8, "accelerator_count": 1}
    servers = {"machine_type": "n1-standard-4"}
    pools = [{"replica_count": 2, "machine_spec": each} for each in (workers, workers, servers)]
    spec = {"worker_pool_specs": pools, "scheduling": {"strategy": "SPOT"}}
    assert quotas.metrics_of(CUSTOM, CustomJob(job_spec=spec)) == [
        "custom_model_training_preemptible_nvidia_a100_gpus",
        "custom_model_training_preemptible_a2_cpus",
        "custom_model_training_preemptible_cpus",
    ]
    resources = {"machine_spec": servers, "starting_replica_count": 2}
    batch = BatchPredictionJob(dedicated_resources=resources)
    assert quotas.metrics_of(BATCH, batch) == ["custom_model_serving_cpus"]
    assert quotas.metrics_of(PIPELINE, TrainingPipeline()) == []


def test_limits_in_words():
    found = {"a": 4, "b": quotas.UNLIMITED, "c": None}
    assert list(quotas.texts(found, ["a", "b", "c", "d"], {"a": 3, "e": 1})) == [
        "a: 4, of which 3 are in use",
        "b: unlimited",
        "c: no known limit",
        "d: no known limit",
    ]
