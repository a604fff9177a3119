"""reserves/RUN.json: which champion a run of the DAG EXPERIMENT-reserve serves anew, and by which
image. The task `resolve` writes it before anything is changed; the tasks after it read it.
"""

from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File


@dataclass(frozen=True, kw_only=True)
class Reserve(File):
    """version: the champion's resource name. first: the number under which its training was
    registered first. trained: folder of the run that trained it, below runs/. image: address.
    """

    CONTRACT: ClassVar[str] = "reserve"

    run_id: str
    version: str
    first: str
    trained: str
    image: str
