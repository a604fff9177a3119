"""Wait for a Dataflow job in the triggerer."""

from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.google.cloud.triggers.dataflow import TemplateJobStartTrigger
from airflow.providers.google.common.hooks.base_google import PROVIDE_PROJECT_ID
from airflow.triggers.base import TriggerEvent
from google.api_core import exceptions
from google.cloud.dataflow_v1beta3 import JobState

from trellis.waiting import in_trigger

# The provider's trigger waits forever for a job that was cancelled, and takes STOPPED, which
# Dataflow's API defines as "has not yet started to run", for a final state.
FINISHED = {
    JobState.JOB_STATE_DONE,
    JobState.JOB_STATE_FAILED,
    JobState.JOB_STATE_CANCELLED,
    JobState.JOB_STATE_UPDATED,
    JobState.JOB_STATE_DRAINED,
}


class FlexTemplateTrigger(TemplateJobStartTrigger):
    """Fires once, when the job has ended in any state: `{"job_id": ..., "state": ...}`.

    Cancels the job when the waiting task is killed, as the provider's trigger does.
    """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return ("trellis.dataflow.triggers.FlexTemplateTrigger", super().serialize()[1])

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await in_trigger(self._poll, self.job_id, self.poll_sleep, self.log))

    async def _poll(self) -> dict[str, Any] | None:
        try:
            state = await self._get_async_hook().get_job_status(
                project_id=self.project_id or PROVIDE_PROJECT_ID,
                job_id=self.job_id,
                location=self.location,
            )
        except exceptions.NotFound:
            return {"job_id": self.job_id, "state": None}
        if state in FINISHED:
            return {"job_id": self.job_id, "state": JobState(state).name}
        return None
