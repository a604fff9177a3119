"""Refuses a run that the user must change, without retries."""

from airflow.sdk.exceptions import AirflowFailException


def refused(error: Exception, state: str = "nothing was spent") -> AirflowFailException:
    """The exception to raise. The reason is printed first, so the log shows it above the traceback.

    state: what the run has done so far.
    """
    message = f"Refused, {state}. {error}"
    print(message)
    return AirflowFailException(message)
