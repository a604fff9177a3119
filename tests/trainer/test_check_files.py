"""Files of predictions are checked by the run's test split, before any training is paid."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trainer import check_files

LABELS = np.arange(40) % 2
LAB, OTHER = "gs://lab/predictions.parquet", "lab/other.parquet"


@pytest.fixture
def given(table_run, classifier):
    """A run without a training, which names two files; a table of predictions that both may be."""
    run = table_run(LABELS, ["false", "true"])
    run.plan({"configuration": {"baselines": {"files": {"lab": LAB, "other": OTHER}}}})
    shares = classifier(LABELS, 2, skill=3, seed=2)
    table = pa.table({"key": run.keys, "false": shares[:, 0], "true": shares[:, 1]})
    for name in ("lab", "other"):
        copy(run, name, table)
    return run, table


def copy(run, name, table):
    """Put a table where `plan` copies a file of predictions to."""
    folder = run.path / f"baselines/file-{name}/raw"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / "predictions.parquet")


def checked(run, capsys):
    code = check_files.main([f"--run={run.uri}"])
    return code, capsys.readouterr()


def test_files_that_can_be_scored_pass_before_there_is_any_training(given, capsys):
    run, _ = given
    code, said = checked(run, capsys)
    assert (code, said.out) == (0, "lab, other: a prediction for each key of the test split.\n")


def replaced(change):
    """A function: the table -> with the values of the class `true` changed."""

    def table(table):
        values = table["true"].to_pylist()
        return table.set_column(2, "true", pa.array(change(values)))

    return table


WRONG = {
    "missing": (lambda table: table.slice(1), "1 missing: 1 key", 0),
    "repeated": (
        lambda table: pa.concat_tables([table, table.slice(2, 1)]),
        "1 of 40 keys have several",
        2,
    ),
    "nan": (replaced(lambda values: [np.nan, *values[1:]]), "NaN or infinity", 0),
    "sum": (replaced(lambda values: [*values[:-1], 0.0]), "do not sum to 1 for 1 of 40 keys", -1),
    "null": (replaced(lambda values: [*values[:-1], None]), "is NULL in 1 of 40 rows", -1),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_with_wrong_rows_is_named_and_their_keys_are_in_the_bucket(given, capsys, what):
    """The log, which more people read, has neither keys nor values."""
    change, reason, key = WRONG[what]
    run, table = given
    copy(run, "lab", change(table))
    code, said = checked(run, capsys)
    assert code == 1
    assert re.search(rf"baselines\.files\.lab, {LAB}: .*{reason}", said.err), said.err
    assert OTHER not in said.err
    key = repr(table["key"][key].as_py())
    assert key not in said.err
    whole = (run.path / "examples/check_files.txt").read_text()
    assert f"baselines.files.lab, {LAB}: " in whole
    assert key in whole


def test_each_wrong_file_is_named(given, capsys):
    run, table = given
    copy(run, "lab", table.drop_columns(["true"]))
    copy(run, "other", table.slice(0, 30))
    code, said = checked(run, capsys)
    assert code == 1
    assert re.findall(r"baselines\.files\.(\w+)", said.err) == ["lab", "other"]
