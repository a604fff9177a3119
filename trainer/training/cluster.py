"""The machines of one training, as TF_CONFIG describes them.

    {"cluster": {"chief": ["host:2222"], "worker": ["host:2222", ...]},
     "task": {"type": "worker", "index": 0}}

Vertex AI sets it in jobs of several replicas
(https://cloud.google.com/vertex-ai/docs/training/distributed-training). Without a chief, worker 0
is the chief. The chief is a worker that also writes the checkpoints and the results. With "ps",
parameter servers, it does only that, and hands out the workers' steps. Vertex AI does not say
whether "ps" also names reduction servers, which are the same worker pool of a job and do not train.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from trainer.training import TrainingError

_ROLES = ("chief", "worker", "ps")


@dataclass(frozen=True)
class Cluster:
    """addresses: "host:port" of each process by its name, such as "chief:0", the chief first.
    name: this process.
    """

    addresses: Mapping[str, str]
    name: str

    @property
    def names(self) -> list[str]:
        """Names of all processes, in the order of their replicas."""
        return list(self.addresses)

    @property
    def chief(self) -> str:
        """Name of the chief."""
        return self.names[0]

    @property
    def is_chief(self) -> bool:
        """True if this process is the chief."""
        return self.name == self.chief

    @property
    def has_servers(self) -> bool:
        """True if parameter servers hold the weights."""
        return any(name.startswith("ps:") for name in self.names)

    @property
    def workers(self) -> "Cluster":
        """The cluster without parameter servers; ALONE if one process is left."""
        left = {name: at for name, at in self.addresses.items() if not name.startswith("ps:")}
        return Cluster(left, self.name) if len(left) > 1 else ALONE

    def __len__(self) -> int:
        return len(self.addresses)


ALONE = Cluster({"chief:0": ""}, "chief:0")


def from_environment(environment: Mapping[str, str]) -> Cluster:
    """The cluster in TF_CONFIG; ALONE if there is none, or only this process in it.

    Raises TrainingError for an invalid TF_CONFIG, and for roles that do not train.
    """
    text = environment.get("TF_CONFIG") or "{}"
    try:
        config = json.loads(text)
        if not config.get("cluster"):
            return ALONE
        task = f"{config['task']['type']}:{int(config['task']['index'])}"
        jobs = {job: list(addresses) for job, addresses in config["cluster"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(f"TF_CONFIG cannot be understood ({error!r}): {text}") from error
    if others := [job for job in jobs if job not in _ROLES and jobs[job]]:
        raise TrainingError(
            f"TF_CONFIG has {', '.join(others)} processes; this trainer supports only chief, "
            "worker and ps: leave worker pool 3 of the job empty"
        )
    if jobs.get("ps") and not (jobs.get("chief") and jobs.get("worker")):
        raise TrainingError("TF_CONFIG has parameter servers (ps): they need a chief and workers")
    addresses = {
        f"{job}:{index}": address
        for job in _ROLES
        for index, address in enumerate(jobs.get(job, []))
    }
    if task not in addresses:
        raise TrainingError(f"TF_CONFIG's task {task} is not in its cluster: {text}")
    return Cluster(addresses, task) if len(addresses) > 1 else ALONE
