"""Additions of every operator of this package to the provider's operator that it derives from."""

from collections.abc import Sequence
from typing import Any, NoReturn

from airflow.providers.google.cloud.operators.cloud_base import GoogleCloudBaseOperator

from trellis.lineage import Traced
from trellis.vertex.links import ConsoleLink

PLACE = ("region", "project_id", "impersonation_chain", "gcp_conn_id")
"""Template fields of every operator: where, and as whom."""

_PROVIDER = "airflow.providers.google.cloud.operators.vertex_ai"


class VertexTask(Traced, GoogleCloudBaseOperator):
    """Mixed in before an operator of the provider, whose name the UI shows, and whose links.

    :param generation: raise it to create again what the task would otherwise adopt.
    :param poll_interval: seconds between two polls of what the task waits for.
    :param wait: seconds that a job may wait for its machines, and an operation may take: then the
        task fails, and a job is cancelled; None: it waits as long as Vertex AI lets it.
    """

    custom_operator_name: str
    template_fields: Any
    project_id: str
    region: str
    gcp_conn_id: str
    impersonation_chain: str | Sequence[str] | None

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for base in cls.__mro__:
            if base.__module__.startswith(_PROVIDER):
                cls.custom_operator_name = base.__name__
                if "operator_extra_links" not in vars(cls):
                    links = getattr(base, "operator_extra_links", ())
                    cls.operator_extra_links = (*links, ConsoleLink())
                return

    def __init__(
        self,
        *,
        generation: int | str = 1,
        poll_interval: float = 10,
        wait: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.wait = wait
        self.generation = generation
        self.poll_interval: Any = poll_interval

    @property
    def extra_links_params(self) -> dict[str, Any]:
        """Fields of the provider's links, of which its operator for tuning has none."""
        return {"project_id": self.project_id, "region": self.region}

    def _hook(self, kind: Any) -> Any:
        """A hook of the provider, of class `kind`, that acts as the task does."""
        return kind(gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain)

    def _defer(self, trigger: Any, method_name: str, **arguments: Any) -> NoReturn:
        """Wait for a trigger, of a class of `vertex.triggers`; the method gets its event."""
        waiting = trigger(
            region=self.region,
            poll_interval=self.poll_interval,
            gcp_conn_id=self.gcp_conn_id,
            impersonation_chain=self.impersonation_chain,
            **arguments,
        )
        self.defer(trigger=waiting, method_name=method_name)


def filled(*names: str) -> dict[str, Any]:
    """Required parameters of a provider's operator in whose place the task has a whole message."""
    return dict.fromkeys(names)
