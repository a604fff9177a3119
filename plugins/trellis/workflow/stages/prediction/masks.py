"""masks: writes the masks that a batch prediction has answered as files in the bucket.

    masks/HASH.png    a mask: grey, 8 bits, a pixel is the index of its class
    masks.jsonl       a line for each instance: key (of images the address), mask (its address),
                      foreground (share of the pixels that are not background), prediction (JSON
                      text: the share of each class), error

Both lie in the run's folder of predictions (Prediction.masks). Of rows, `publish` makes the run's
table of masks.jsonl. A task that is cleared writes the same files.
"""

import base64
import binascii
import io
import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.labels.mask import FOREGROUND
from trellis.workflow.lookups import left, own_dataset, plans, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.prediction import lines
from trellis.workflow.stages.prediction.lines import Answer
from trellis.workflow.stages.prediction.publish import load, written
from trellis_contracts import layout

LINE = "| masks | writes each mask as a PNG below `masks/`, and `masks.jsonl`, their addresses |\n"
"""Of the DAG's page."""

# Masks that are written at once, and read before that: a request of the server has 10 MB at most.
_WRITERS = 16
_AT_ONCE = 64
# Rows of a page of BigQuery, whose answers have up to 10 MB each.
_PAGE = 16
_TOLD = 1000


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the address of masks.jsonl."""

    @function_task(task_id="masks")
    def masks(ti=None, run_id=None):
        plan = plans.load_prediction(experiment, platform, run_id)
        return write(plan, platform, left.returned(ti, "predict", "predictions")["output"])

    return masks()


def job(plan: PredictionPlan, platform: Platform, predicted: str | None) -> dict[str, Any]:
    """The job of `publish`, which loads masks.jsonl as the run's table. predicted: not read."""
    types = {"key": "STRING", "mask": "STRING", FOREGROUND: "FLOAT64"}
    types |= {"prediction": "STRING", "error": "STRING"}
    return load(plan, platform, plan.run.masks, types, sourceFormat="NEWLINE_DELIMITED_JSON")


def write(plan: PredictionPlan, platform: Platform, predicted: str) -> str:
    """Write the files; returns the address of masks.jsonl, which comes last. predicted: the job's
    output, a folder or a table.
    """
    read = _of_folder if plan.rows is None else _of_tables
    found = read(platform, predicted)
    address, folder = plan.run.masks, plan.run.masks_folder

    def put(answer: Answer) -> dict[str, Any]:
        return _row(answer, folder, lambda uri, png: _upload(platform, uri, png))

    count = 0
    with (
        storage.blob(platform, address).open("w", content_type="application/json") as file,
        ThreadPoolExecutor(_WRITERS) as writers,
    ):
        while some := list(itertools.islice(found, _AT_ONCE)):
            file.writelines(f"{json.dumps(row)}\n" for row in writers.map(put, some))
            before, count = count, count + len(some)
            if before // _TOLD != count // _TOLD:
                print(f"{count:,} masks written", flush=True)
    print(f"{count:,} instances; masks and {address} lie in {folder}")
    return address


def _row(answer: Answer, folder: str, put: Callable[[str, bytes], None]) -> dict[str, Any]:
    """Write the mask of an answer; returns its line."""
    key, error, prediction = answer
    if error is not None:
        return _failed(key, error)
    try:
        png = base64.b64decode(prediction["mask"]["b64"], validate=True)
        shares = {str(name): float(share) for name, share in prediction["shares"].items()}
        foreground = lines.number(prediction)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, binascii.Error):
        return _failed(key, "the answer has no mask")
    mask = layout.mask(folder, key)
    put(mask, png)
    return {
        "key": key,
        "mask": mask,
        FOREGROUND: foreground,
        "prediction": json.dumps({"shares": shares}),
        "error": None,
    }


def _failed(key: str, error: str) -> dict[str, Any]:
    return {"key": key, "mask": None, FOREGROUND: None, "prediction": None, "error": error}


def _upload(platform: Platform, uri: str, png: bytes) -> None:
    storage.blob(platform, uri).upload_from_file(io.BytesIO(png), content_type="image/png")


def _of_folder(platform: Platform, folder: str) -> Iterator[Answer]:
    """The answers in the job's lines; those that it has no line for are counted by `result`."""
    for blob in storage.each_blob(platform, f"{folder.rstrip('/')}/"):
        if "errors" not in blob.name.rpartition("/")[2]:
            with blob.open("rt", encoding="utf-8") as file:
                yield from map(lines.of_file, filter(str.strip, file))


def _of_tables(platform: Platform, predicted: str) -> Iterator[Answer]:
    """The answers in the job's table, and the errors in the one beside it."""
    client = own_dataset.client(platform)
    columns = {"predictions": "prediction", "errors": "prediction_error"}
    for kind, name in written(platform, predicted, service=None).items():
        if name is None:
            continue
        column = columns[kind]
        statement = f"SELECT key, {column} AS answer FROM {sql.identifier(name)}"
        limit = own_dataset.bounded(platform, name)
        for row in client.query(statement, job_config=limit).result(page_size=_PAGE):
            key, answer = str(row["key"]), row["answer"]
            yield lines.of_row(key, answer) if column == "prediction" else (key, str(answer), {})
