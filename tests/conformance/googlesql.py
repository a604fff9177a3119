"""Run the compliance cases of GoogleSQL, BigQuery's language, against local_gcp.

    .venv/local_gcp/bin/local-gcp run --temporary -- \\
        .venv/airflow/bin/python -m tests.conformance.googlesql CHECKOUT [FILE ...]

Google publishes the language's reference implementation with cases and their results. They are not
in this repository: CHECKOUT is one of github.com/google/googlesql. A case has the same result, is
refused by name (local_gcp says what it does not emulate), gets an error (BigQuery itself lacks much
of the language, and has limits that it does not), is not comparable (`googlesql.yaml` says why), or
is wrong. Ends with 1 if a case is wrong.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import functools
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from google.api_core import exceptions
from google.cloud import bigquery

from tests.conformance.googlesql_cases import Case, read, same, value
from tests.conformance.suite_refusals import REFUSAL

COLUMNS = ("same", "refused by name", "error", "not comparable", "wrong")
LISTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
OTHER_TYPES = {"int32": "INT64", "uint32": "INT64", "uint64": "INT64"} | dict.fromkeys(
    ("float", "double"), "FLOAT64"
)
"""Types that BigQuery has not, and those that tables of the cases get in their place."""
Run = Callable[[str], bigquery.table.RowIterator]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="of github.com/google/googlesql")
    parser.add_argument("files", nargs="*", help="names of files of cases; default: all")
    options = parser.parse_args()
    if "LOCAL_GCP_URL" not in os.environ:
        parser.error("run it below `local-gcp run --temporary --`: on Google Cloud it would cost")
    files = sorted(options.checkout.glob("*/compliance/testdata/*.test"))
    if not files:
        parser.error(f"{options.checkout} has no */compliance/testdata/*.test")
    client = bigquery.Client()
    counts: collections.Counter[str] = collections.Counter()
    for path in files:
        if options.files and path.stem not in options.files:
            continue
        of_file: collections.Counter[str] = collections.Counter()
        for case, column, answer in outcomes(client, path):
            of_file[column] += 1
            if column == "wrong":
                print(f"{path.name} {case.name}: {case.statement}\n  {case.expected}\n  {answer}")
        counts += of_file
        print(f"{path.name}: {', '.join(f'{n} {name}' for name, n in of_file.items())}", flush=True)
    print(f"\n| cases | {' | '.join(COLUMNS)} |\n|---:{'|---:' * len(COLUMNS)}|")
    print(f"| {counts.total()} | {' | '.join(str(counts[name]) for name in COLUMNS)} |")
    return 1 if counts["wrong"] else 0


def outcomes(client: bigquery.Client, path: Path) -> Iterator[tuple[Case, str, Any]]:
    """Each case of a file, its column and the answer. The file's tables lie in a dataset of its
    own.
    """
    dataset = client.create_dataset(f"cases_{uuid.uuid4().hex}").reference
    run = functools.partial(_run, client, dataset)
    for case in read(path):
        if case.prepares:
            _prepare(run, case.statement)
        elif incomparable(path.stem, case):
            yield case, "not comparable", None
        else:
            yield case, *_judged(run, case)
    client.delete_dataset(dataset, delete_contents=True)


def incomparable(file: str, case: Case) -> bool:
    """Return whether a case cannot be compared: `googlesql.yaml` says why, it has parameters, or it
    changes a table, whose rows are its result.
    """
    name, statement = f"{file}.{case.name}", case.statement.lower()
    if case.parameters or case.expected.startswith("STRUCT<"):
        return True
    return any(
        any(fnmatch.fnmatchcase(name, pattern) for pattern in group.get("cases", ()))
        or not case.needs.isdisjoint(group.get("features", ()))
        or any(word.lower() in statement for word in group.get("words", ()))
        for group in LISTED
    )


def _run(
    client: bigquery.Client, dataset: bigquery.DatasetReference, statement: str
) -> bigquery.table.RowIterator:
    config = bigquery.QueryJobConfig(default_dataset=dataset)
    return client.query_and_wait(statement, job_config=config, retry=None, job_retry=None)


def _prepare(run: Run, statement: str) -> None:
    """Make a table of the cases that follow, where that is possible."""
    for name, other in OTHER_TYPES.items():
        statement = statement.replace(f" {name})", f" {other})").replace(f" {name},", f" {other},")
    try:
        run(statement)
    except exceptions.GoogleAPICallError:
        return  # the cases that read it get "not found"


def _judged(run: Run, case: Case) -> tuple[str, Any]:
    """The column of a case, and the rows or the error that it got."""
    try:
        rows = run(case.statement)
        answer = [tuple(row.values()) for row in rows]
    except exceptions.GoogleAPICallError as error:
        if REFUSAL in str(error) or isinstance(error, exceptions.MethodNotImplemented):
            return "refused by name", error
        return ("same" if case.fails else "error"), error
    except TypeError as error:  # the client cannot read it
        return "wrong", error
    if case.fails:
        return "wrong", answer
    if any(field.field_type == "JSON" for field in rows.schema):
        return "not comparable", answer
    expected = value(case.expected)
    # Rows of SELECT AS VALUE are no STRUCT: the client has them as one column.
    single = [
        one if isinstance(one, tuple) else (one,) for one in getattr(expected, "items", expected)
    ]
    expected = type(expected)(single)
    return ("same" if same(expected, answer) else "wrong"), answer


if __name__ == "__main__":
    sys.exit(main())
