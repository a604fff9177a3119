"""gs://BUCKET/_index/EXPERIMENT/predictions/RUN.json.

The DAG EXPERIMENT-predict writes it when it is done, and `watch` of the requests that an endpoint
has kept.
"""

from typing import Literal

from trellis.workflow.contracts.index_document import Document
from trellis.workflow.contracts.record import Scored


class LaterScore(Document):
    """How good a batch prediction was, by the labels that have arrived since. at: when it was
    scored, ISO 8601. examples: with a label. groups: of them, where intervals count groups. score:
    by the experiment's metric, named; None where that is not defined.
    """

    at: str
    examples: int
    groups: int | None
    score: Scored | None


class PredictionRecord(Document):
    """A batch prediction, one that was refused by `predict.changes`, or a day's comparison of the
    requests that an endpoint has kept.

    at: when it ended, ISO 8601. version: resource name of the model that predicted; trained: folder
    of the run that trained it. predicted: rows or images with a prediction; None: it was refused,
    or the requests were too many. output: table of the predictions; None of images whose labels
    `predict.truth` does not ask for, of a refusal and of requests. warnings: what is beyond the
    limits of `predict.changes`, in sentences without a value of a row. performance: None until
    labels arrive. until: of requests, those before this moment were compared, ISO 8601; None of a
    batch prediction.
    """

    format: Literal[1] = 1
    experiment: str
    run_id: str
    uri: str
    at: str
    version: str
    trained: str
    predicted: int | None
    output: str | None
    warnings: tuple[str, ...]
    performance: LaterScore | None = None
    until: str | None = None

    @property
    def folder(self) -> str:
        """Name of its folder: unique within the experiment."""
        return self.uri.rstrip("/").rpartition("/")[2]
