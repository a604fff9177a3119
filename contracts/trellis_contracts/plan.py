"""plan.json: what one run is to do. The stage `plan` writes it, every later stage and job reads it.

plan.schema.json describes each field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trellis_contracts import VERSION
from trellis_contracts.files import File, Part


@dataclass(frozen=True)
class PlannedDataset(Part):
    """The dataset that a run trains on.

    uri: of its folder; fingerprint: the folder's name. exists: whether an earlier run created it.
    source: the manifest, files, table or query. statement: the SQL that freezes the rows.
    partition: {"column", "from", "to"}; None for images, and for the rows of all times. examples,
    classes: None where only reading would tell, or there are none. previous: the folder of the
    newest dataset before this one that a run of the experiment has trained on; None if there is
    none.
    """

    uri: str
    fingerprint: str
    exists: bool
    source: str
    statement: str
    partition: Mapping[str, str] | None
    examples: int | None
    classes: Mapping[str, int] | None
    previous: str | None


@dataclass(frozen=True)
class PlannedShare(Part):
    """A worker's share of the training split, decoded.

    bytes: an estimate; None where only the export tells. kept: where the machine keeps it for all
    epochs, "in memory" or "on disk"; None where it fits neither, or its size is not known.
    """

    bytes: int | None
    kept: str | None


@dataclass(frozen=True)
class Reuse(Part):
    """The results that a run reuses from earlier runs, and the digests by which later runs find its
    own.

    digests: of the steps `tune` and `train`, without those whose image has no known digest; a
    training's is that of its job without the parameters of its trial. steps: folders of earlier
    runs by what they stand in for, as folders below the run: tuning, training/1,
    training/1/seeds/8. remark: why nothing more is reused, if that was asked for.
    """

    digests: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)
    remark: str | None = None

    def lines(self) -> list[str]:
        """List what is reused, one line each, and why the rest is not; nothing if `reuse` is
        off.
        """
        found = [f"Reused, no job: {step} from {source}" for step, source in self.steps.items()]
        if self.remark is not None:
            found.append(f"Nothing {'more ' if found else ''}is reused: {self.remark}")
        return found


@dataclass(frozen=True, kw_only=True)
class Planned:
    """Fields that a plan.json and its reader on Airflow's side have in common.

    created: when the run was triggered, ISO 8601, as are start and end of the data_interval.
    images: sha256:... of each image of the run's jobs and of its server, by address with tag, as
    far as the registry tells. baselines: their names. jobs: how many, by kind. rates: US dollars an
    hour. cost: the limit that was checked against the budget. shares: by stage, of those that train
    networks.
    """

    run_id: str
    created: str
    data_interval: Mapping[str, str | None]
    dataset: PlannedDataset
    baselines: tuple[str, ...]
    jobs: Mapping[str, int]
    rates: Mapping[str, float]
    cost: Mapping[str, Any]
    images: Mapping[str, str] = field(default_factory=dict)
    reuse: Reuse = field(default_factory=Reuse)
    shares: Mapping[str, PlannedShare] = field(default_factory=dict)

    @property
    def query_bytes(self) -> int | None:
        """Bytes that one query on the rows may be billed for; None if the plan has no rows."""
        found = self.cost.get("query_bytes")
        return None if found is None else int(found)

    @property
    def planned(self) -> dict[str, Any]:
        """These fields by name."""
        return {name: getattr(self, name) for name in Planned.__dataclass_fields__}


@dataclass(frozen=True, kw_only=True)
class PlanFile(Planned, File):
    """The content of a plan.json.

    run: folder of the run. configuration: the experiment file with its defaults filled in and the
    run's parameters applied. model_files: those among the experiment's models, by name.
    image_files: SHA-256 of the requirements of its own images, by the image's name. table: the
    columns of the dataset.
    """

    CONTRACT: ClassVar[str] = "plan"

    experiment: str
    description: str
    run: str
    configuration: Mapping[str, Any]
    model_files: Mapping[str, Mapping[str, Any]]
    image_files: Mapping[str, str]
    table: Mapping[str, Any]

    def to_document(self) -> dict[str, Any]:
        """The content of the file, with the version of the contracts that wrote it."""
        return {"schema": self.SCHEMA, "contracts": VERSION, **super().to_document()}
