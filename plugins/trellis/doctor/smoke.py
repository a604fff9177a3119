"""`trellis doctor --smoke`: an export of four images, and a job that copies a file in the bucket.

Both run with the group's images, account, network and key. Only a job can prove that the image is
pulled, the machine starts, and the account can read and write the bucket.
"""

import io
import json
import secrets
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from trellis import console
from trellis.doctor.findings import Finding
from trellis.doctor.report import text
from trellis.doctor.target import Target
from trellis_contracts import job_image
from trellis_contracts.columns import Columns, ImageForm, TableFeature
from trellis_contracts.dataset import Split
from trellis_contracts.dataset_features import IMAGE

MINUTES = 30
"""Timeout, after which the jobs are cancelled; they take 5 to 10 minutes."""

_DATAFLOW = "https://dataflow.googleapis.com/v1b3/projects/{project}/locations/{region}"
# The smallest dataset that an export accepts: two training classes, one image in each other split.
_ROWS = (("train", "a"), ("train", "b"), ("validation", "a"), ("test", "b"))
_COPY = (
    # trainer: refuses to be started by another release.
    "import os, pathlib, sys, trainer; "
    "folder = pathlib.Path(os.environ.get('GCS_ROOT') or '/gcs', sys.argv[1]); "
    "(folder / 'copy.json').write_text((folder / 'columns.json').read_text())"
)


@dataclass(frozen=True)
class Ended:
    """The end of a job. error: why it failed; None if it did not."""

    error: str | None


class Job(Protocol):
    """One of the two jobs. name, link: for the report. result: the file that it must write."""

    name: str
    link: str
    result: str

    def ended(self) -> Ended | None:
        """Return how the job ended; None while it runs."""

    def cancel(self) -> None:
        """End it."""


def run(target: Target, out: TextIO) -> list[Finding]:
    """Run both jobs at once, and print how each ended; returns failures as findings."""
    from google.cloud import storage

    group = target.platform
    folder = f"doctor/{secrets.token_hex(6)}"
    bucket = storage.Client(project=group.project).bucket(group.bucket)
    _write_source(bucket, folder)
    findings: list[Finding] = []
    running: list[Job] = []
    for start in (Export, CustomJob):
        try:
            running.append(start(target, folder))
            print(f"{running[-1].name:<26}started: {running[-1].link}", file=out, flush=True)
        except Exception as error:  # Google's libraries have many
            findings.append(_failed(start.name, f"{error}", "was not accepted", target))
    try:
        for job, problem in _wait(running, target):
            if problem is None and not bucket.blob(job.result).exists():
                problem = f"it left no gs://{group.bucket}/{job.result}"
            print(f"{job.name:<26}{'failed' if problem else 'good'}", file=out, flush=True)
            if problem:
                findings.append(_failed(job.name, problem, f"failed: {job.link}", target))
    finally:
        for job in running:
            if job.ended() is None:
                job.cancel()
    if not findings:
        bucket.delete_blobs(list(bucket.list_blobs(prefix=f"{folder}/")))
    for finding in findings:
        print(text("!  ", finding.problem, finding.why, finding.fix), file=out)
    return findings


def _wait(jobs: list[Job], target: Target) -> Iterator[tuple[Job, str | None]]:
    """Each job when it has ended, with its problem or None."""
    waiting, until = list(jobs), time.monotonic() + MINUTES * 60
    while waiting:
        for job in list(waiting):
            if (ended := job.ended()) is not None:
                waiting.remove(job)
                yield job, ended.error
        if waiting and time.monotonic() > until:
            yield from ((job, f"it did not end within {MINUTES} minutes") for job in waiting)
            return
        if waiting:
            time.sleep(target.platform.poll_seconds)


class Export:
    """The export image on Dataflow."""

    name = "Export on Dataflow"

    def __init__(self, target: Target, folder: str):
        from trellis.workflow.stages.export import launch

        group = target.platform
        source = f"gs://{group.bucket}/{folder}"
        flags = {
            "source": f"{source}/columns.json",
            "output": f"{source}/dataset/",
            "fingerprint": "doctor",
            "shards": "1",
        }
        self._api = target.api
        self._jobs = _DATAFLOW.format(project=group.project, region=group.region)
        body = launch(group, folder.replace("/", "-"), dict(group.labels), flags)
        job = self._api.post(f"{self._jobs}/flexTemplates:launch", body)["job"]["id"]
        self._job = f"{self._jobs}/jobs/{job}"
        self.link = console.dataflow(group.project, group.region, job)
        self.result = f"{folder}/dataset/dataset.json"

    def ended(self) -> Ended | None:
        """Return how the job ended, by its state; None while it runs."""
        state = self._api.get(self._job).get("currentState", "")
        if state == "JOB_STATE_DONE":
            return Ended(None)
        if state not in ("JOB_STATE_FAILED", "JOB_STATE_CANCELLED"):
            return None
        messages = self._api.get(
            f"{self._job}/messages", minimumImportance="JOB_MESSAGE_ERROR"
        ).get("jobMessages", [])
        return Ended(messages[-1]["messageText"] if messages else state)

    def cancel(self) -> None:
        """Request the state cancelled."""
        self._api.put(self._job, {"requestedState": "JOB_STATE_CANCELLED"})


class CustomJob:
    """A short job with the trainer image on Vertex AI."""

    name = "Custom job on Vertex AI"

    def __init__(self, target: Target, folder: str):
        from google.cloud import aiplatform_v1

        from trellis.workflow.stages import job_messages

        group = target.platform
        image = group.image("trainer", job_image.TAG)
        pool = {
            "machine_spec": {"machine_type": group.compare.machine_type},
            "replica_count": 1,
            "container_spec": {
                "image_uri": image,
                "command": ["python", "-c", _COPY],
                "args": [f"{group.bucket}/{folder}"],
                "env": job_image.variables(),
            },
        }
        job: dict[str, Any] = {
            "display_name": folder,
            "labels": dict(group.labels),
            "job_spec": {
                "worker_pool_specs": [pool],
                "scheduling": {"timeout": {"seconds": MINUTES * 60}},
                **job_messages.identity(group),
            },
            **job_messages.encryption(group),
        }
        self._client = aiplatform_v1.JobServiceClient(
            client_options={"api_endpoint": f"{group.region}-aiplatform.googleapis.com"}
        )
        parent = f"projects/{group.project}/locations/{group.region}"
        self._job = self._client.create_custom_job(
            parent=parent, custom_job=aiplatform_v1.CustomJob(job)
        ).name
        self.link = console.vertex(self._job)
        self.result = f"{folder}/copy.json"

    def ended(self) -> Ended | None:
        """Return how the job ended, by its state; None while it runs."""
        job = self._client.get_custom_job(name=self._job)
        if job.state.name == "JOB_STATE_SUCCEEDED":
            return Ended(None)
        if job.state.name not in ("JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED"):
            return None
        return Ended(job.error.message or job.state.name)

    def cancel(self) -> None:
        """Request it."""
        self._client.cancel_custom_job(name=self._job)


def _failed(name: str, problem: str, how: str, target: Target) -> Finding:
    group = target.platform
    return Finding(
        f"{name} {how}: {problem.strip()}",
        f"Runs start such jobs as {group.service_account}, with the same images and network.",
        "See the job's log; docs/first-real-run.md lists the known differences",
    )


def _write_source(bucket: Any, folder: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = []
    for number, (split, label) in enumerate(_ROWS):
        name = f"{folder}/{number}.png"
        bucket.blob(name).upload_from_string(_png(60 * number), content_type="image/png")
        address = f"gs://{bucket.name}/{name}"
        rows.append({"key": name, "split": split, "label": label, "image": address})
    columns = Columns(
        task="binary_classification",
        split=Split("named"),
        key="key",
        label="label",
        features=(
            TableFeature("image", "image", "STRING", IMAGE, ImageForm((8, 8), 1, "png", "stretch")),
        ),
        vocabulary=1,
        source={
            "table": None,
            "query": None,
            "partition": None,
            "snapshot": "doctor",
            "rows": len(rows),
        },
    )
    content = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), content)
    bucket.blob(f"{folder}/rows-0.parquet").upload_from_string(content.getvalue())
    bucket.blob(f"{folder}/columns.json").upload_from_string(json.dumps(columns.to_document()))


def _png(grey: int) -> bytes:
    """A grey image of 8 x 8 pixels. https://www.w3.org/TR/png-3/"""

    def chunk(kind: bytes, data: bytes) -> bytes:
        length, check = struct.pack(">I", len(data)), struct.pack(">I", zlib.crc32(kind + data))
        return length + kind + data + check

    header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([grey]) * 8) * 8
    pixels = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")
