"""Queries on a source: their errors, which may quote its rows."""

import pytest
from google.api_core import exceptions

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups.table_state import answer
from trellis_contracts.withheld import shown

QUOTES = "Bad double value: patient_17"


class Failing:
    """A client whose every query fails."""

    def __init__(self, reason):
        self._error = exceptions.BadRequest(QUOTES, errors=[{"reason": reason, "message": QUOTES}])

    def query(self, statement, job_config=None):
        return self

    def result(self):
        raise self._error


def test_a_query_that_fails_by_a_value_does_not_quote_it():
    with pytest.raises(SourceError) as refused:
        answer(Failing("invalidQuery"), "SELECT CAST(x AS FLOAT64) FROM t")
    assert "patient_17" not in str(refused.value)
    assert refused.value.__suppress_context__
    assert QUOTES in shown(refused.value.text)


@pytest.mark.parametrize("reason", ["bytesBilledLimitExceeded", "rateLimitExceeded"])
def test_other_errors_are_the_callers(reason):
    with pytest.raises(exceptions.BadRequest):
        answer(Failing(reason), "SELECT 1")
