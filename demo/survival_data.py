"""Loads a real table into BigQuery: the recurrence of breast cancer in the second trial of the
German Breast Cancer Study Group.

Runs in the trainer environment with the variables of `local_gcp env`, through Google's client. The
rows are those of scikit-survival, which the image `survival` of the experiment has (`make image
NAME=survival`). Creates the table DATASET.TABLE of 686 rows (Schumacher et al., 1994):

patient      STRING, patient-001 ...
age, estrogen, nodes, progesterone, size   FLOAT64: years, fmol/mg, number, fmol/mg, mm
therapy, menopause, grade   STRING: no or yes, Pre or Post, I to III
days         FLOAT64: time until recurrence or death, or until she was last seen without
recurred     BOOL: whether it ended so

    python -m demo.survival_data PROJECT.DATASET.TABLE
"""

import sys
from pathlib import Path

from google.cloud.bigquery import SchemaField
from scipy.io import arff

from demo import tables
from demo.places import ROOT

_FILE = ".venv/images/survival/lib/python*/site-packages/sksurv/datasets/data/GBSG2.arff"

# Names in the file, and ours.
_NUMBERS = {
    "age": "age",
    "estrec": "estrogen",
    "pnodes": "nodes",
    "progrec": "progesterone",
    "tsize": "size",
}
_TERMS = {"horTh": "therapy", "menostat": "menopause", "tgrade": "grade"}


def main(name: str) -> None:
    tables.load(name, *table(_file()))


def _file() -> Path:
    found = sorted(ROOT.glob(_FILE))
    if not found:
        raise FileNotFoundError(f"{_FILE}: run `make image NAME=survival`")
    return found[0]


def table(path: Path) -> tuple[list[SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values. path: of the ARFF file."""
    found, _ = arff.loadarff(path)
    fields = [
        SchemaField("patient", "STRING", "REQUIRED"),
        *(SchemaField(name, "FLOAT64") for name in _NUMBERS.values()),
        *(SchemaField(name, "STRING") for name in _TERMS.values()),
        SchemaField("days", "FLOAT64", "REQUIRED"),
        SchemaField("recurred", "BOOL", "REQUIRED"),
    ]
    rows = [
        {
            "patient": f"patient-{number:03d}",
            **{name: float(row[of_file]) for of_file, name in _NUMBERS.items()},
            **{name: row[of_file].decode() for of_file, name in _TERMS.items()},
            "days": float(row["time"]),
            "recurred": row["cens"] == b"1",
        }
        for number, row in enumerate(found, start=1)
    ]
    return fields, rows


if __name__ == "__main__":
    main(sys.argv[1])
