"""gs://BUCKET/_index/EXPERIMENT/rollbacks/RUN.json and reserves/RUN.json.

The DAGs rollback and EXPERIMENT-reserve write them when they are done.
"""

from typing import Literal

from trellis.workflow.contracts.index_document import Document


class ChampionRecord(Document):
    """A version that a person put into service without a training.

    at: when it was done, ISO 8601. asked: the number or alias that the person named. version,
    before: resource names; before: the champion until then. image: of a champion that is served
    anew, the image that serves it now; None for a rollback.
    """

    format: Literal[1] = 1
    experiment: str
    run_id: str
    at: str
    user: str | None
    asked: str
    version: str
    before: str | None
    image: str | None = None
