"""Refuses a run that the user must change, without retries."""

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.lookups import examples
from trellis.workflow.spec.platform import Platform
from trellis_contracts.withheld import RowsError


def refused(
    error: Exception,
    platform: Platform,
    rows: str | None = None,
    state: str = "nothing was spent",
) -> AirflowFailException:
    """The exception to raise. The reason is printed first, so the log shows it above the traceback.

    rows: address of the file that gets what the error quotes of rows, if it may quote any. state:
    what the run has done so far.
    """
    message = f"Refused, {state}. {error}"
    if isinstance(error, RowsError) and rows is not None:
        message = "\n".join(examples.for_log(platform, rows, [f"Refused, {state}. {error.text}"]))
    print(message)
    return AirflowFailException(message)
