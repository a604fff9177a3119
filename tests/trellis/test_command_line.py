"""The folder of DAG files, as all commands take it."""

import pytest

from tests.wording import says
from trellis.__main__ import main


@pytest.mark.parametrize(
    "words",
    [
        ("new", "experiment", "data.x"),
        ("upload", "x.csv", "data.x"),
        ("runs",),
        ("export", "digits", "--to", "paper"),
        ("doctor",),
        ("clean", "elsewhere"),
    ],
)
def test_where_there_is_no_such_folder_the_argument_is_named(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    option = "--platform" if words[0] in ("new", "upload", "runs", "export") else "folder"
    folder = words[1] if words[0] == "clean" else "dags"
    assert says(capsys.readouterr().err.lower(), f"argument {option}: {folder} is no folder here")
