"""Wait for a Dataflow job in the triggerer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.google.cloud.hooks.dataflow import AsyncDataflowHook
from airflow.providers.google.cloud.triggers.dataflow import TemplateJobStartTrigger
from airflow.triggers.base import TriggerEvent
from google.api_core import exceptions
from google.cloud.dataflow_v1beta3 import JobState

LONGEST_PAUSE_SECONDS = 60

# The provider's trigger waits forever for a job that was cancelled, and takes STOPPED, which
# Dataflow's API defines as "has not yet started to run", for an end.
FINISHED = {
    JobState.JOB_STATE_DONE,
    JobState.JOB_STATE_FAILED,
    JobState.JOB_STATE_CANCELLED,
    JobState.JOB_STATE_UPDATED,
    JobState.JOB_STATE_DRAINED,
}


class FlexTemplateTrigger(TemplateJobStartTrigger):
    """Fires once, when the job has ended in whatever state: `{"job_id": ..., "state": ...}`.

    A poll that fails is logged and repeated. Cancels the job when the waiting task is killed, as
    the provider's trigger does.
    """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return ("dataflow.triggers.FlexTemplateTrigger", super().serialize()[1])

    async def run(self) -> AsyncIterator[TriggerEvent]:
        hook = AsyncDataflowHook(
            gcp_conn_id=self.gcp_conn_id,
            poll_sleep=self.poll_sleep,
            impersonation_chain=self.impersonation_chain,
        )
        failures = 0
        last_state = None
        while True:
            try:
                state = await hook.get_job_status(
                    project_id=self.project_id, job_id=self.job_id, location=self.location
                )
            except exceptions.NotFound:
                yield TriggerEvent({"job_id": self.job_id, "state": None})
                return
            except Exception as error:
                failures += 1
                self.log.warning("Could not look at %s, trying again: %s", self.job_id, error)
                await asyncio.sleep(min(self.poll_sleep * 2**failures, LONGEST_PAUSE_SECONDS))
                continue
            failures = 0
            if state in FINISHED:
                yield TriggerEvent({"job_id": self.job_id, "state": JobState(state).name})
                return
            if state != last_state:
                last_state = state
                self.log.info("Dataflow job %s is %s", self.job_id, JobState(state).name)
            await asyncio.sleep(self.poll_sleep)
