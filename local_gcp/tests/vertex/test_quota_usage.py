from google.cloud import aiplatform_v1 as api

from local_gcp.vertex import quota_usage

TRAINING = "aiplatform.googleapis.com/custom_model_training"


def pool(replicas, machine_type, gpu=None, gpus=0):
    machine = {"machine_type": machine_type, "accelerator_type": gpu, "accelerator_count": gpus}
    return {"replica_count": replicas, "machine_spec": machine}


def test_each_machine_takes_from_the_quotas_of_its_series_and_of_its_gpus():
    pools = [
        pool(1, "n1-standard-8", "NVIDIA_TESLA_T4", 2),
        pool(3, "e2-highmem-4"),
        pool(2, "n2-standard-16"),
        pool(1, "a3-highgpu-8g", "NVIDIA_H100_80GB", 8),
    ]
    assert quota_usage.of(api.CustomJobSpec(worker_pool_specs=pools)) == {
        f"{TRAINING}_cpus": 20,
        f"{TRAINING}_n2_cpus": 32,
        f"{TRAINING}_nvidia_t4_gpus": 2,
        f"{TRAINING}_nvidia_h100_gpus": 8,
    }


def test_a_spot_machine_has_quotas_of_its_own():
    spec = api.CustomJobSpec(
        worker_pool_specs=[pool(1, "n1-standard-4")], scheduling={"strategy": "SPOT"}
    )
    assert quota_usage.of(spec) == {f"{TRAINING}_preemptible_cpus": 4}
