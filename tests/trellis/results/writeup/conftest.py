import pytest

from trellis.results.files import load_files
from trellis.results.writeup import facts
from trellis.workflow.contracts.layout import Run


@pytest.fixture
def gather(run, client, bucket):
    """The facts of the run, as its files are now."""

    def gather(record=None):
        return facts.load(client, load_files(client, Run(bucket, "digits", "r")), record)

    return gather
