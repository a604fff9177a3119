"""Defines no Airflow DAG: reports experiment files that are wrong, as this file's import error.

An error raised in research_training.py would stop the DAGs of all experiments: Airflow takes every
DAG of a file with an import error for stale. So that file leaves out what it cannot read, and this
one, which no DAG lives in, says so where people look: "Dag Import Errors" in the UI, and
`airflow dags list-import-errors`. The DAG of a wrong file is gone until the file is mended; its
runs and their logs are kept.
"""

from pathlib import Path

from research.experiment import load
from research.problems import FileError


def errors(folder: Path) -> list[str]:
    """What is wrong with the experiment files in a folder: one text for each wrong file."""
    found = []
    for file in sorted(folder.glob("*.y*ml")):
        try:
            load(file)
        except FileError as error:
            found.append(str(error))
        if file.suffix != ".yaml":
            found.append(f"{file}: experiments end with .yaml, this one is not read")
    return found


if wrong := errors(Path(__file__).parent / "experiments"):
    raise ImportError("\n\n".join(["Experiment files with problems.", *wrong]))
