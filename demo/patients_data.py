"""Loads a made-up table into BigQuery: visits of patients, several rows of each.

Runs in the trainer environment (NumPy and BigQuery's client live there together) with the variables
of `local_gcp env`, through Google's client. Creates the table DATASET.TABLE of 4,800 rows: 800
patients with six visits each. Whether a patient is readmitted depends on age and glucose, with
noise; the other laboratory values are the patient's own and say nothing. They tell patients apart:
a model that saw other visits of a patient seems better than it is on new patients.

visit        STRING, patient-0001-visit-1 ...
patient      STRING
age          INT64, years
sex          STRING, female or male
glucose      FLOAT64, mmol/l
lab_1 ... lab_8   FLOAT64
readmitted   BOOL, the same in all visits of a patient

    python -m demo.patients_data PROJECT.DATASET.TABLE
"""

import sys

import numpy as np
from google.cloud.bigquery import SchemaField

from demo import tables

PATIENTS, VISITS, LABS = 800, 6, 8


def main(name: str) -> None:
    tables.load(name, *table())


def table() -> tuple[list[SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values."""
    random = np.random.default_rng(1)
    fields = [
        SchemaField("visit", "STRING", "REQUIRED"),
        SchemaField("patient", "STRING", "REQUIRED"),
        SchemaField("age", "INT64", "REQUIRED"),
        SchemaField("sex", "STRING", "REQUIRED"),
        SchemaField("glucose", "FLOAT64"),
        *(SchemaField(f"lab_{number}", "FLOAT64") for number in range(1, LABS + 1)),
        SchemaField("readmitted", "BOOL", "REQUIRED"),
    ]
    rows = []
    for patient in range(1, PATIENTS + 1):
        age = int(random.integers(30, 91))
        sex = str(random.choice(["female", "male"]))
        glucose = random.normal(6.5, 1.5)
        own = random.normal(0, 1, LABS)
        risk = 0.05 * (age - 60) + 0.8 * (glucose - 6.5)
        readmitted = bool(random.random() < 1 / (1 + np.exp(-risk)))
        for visit in range(1, VISITS + 1):
            labs = own + random.normal(0, 0.2, LABS)
            rows.append(
                {
                    "visit": f"patient-{patient:04d}-visit-{visit}",
                    "patient": f"patient-{patient:04d}",
                    "age": age,
                    "sex": sex,
                    "glucose": round(float(glucose + random.normal(0, 0.5)), 2),
                    **{f"lab_{n}": round(float(lab), 3) for n, lab in enumerate(labs, start=1)},
                    "readmitted": readmitted,
                }
            )
    return fields, rows


if __name__ == "__main__":
    main(sys.argv[1])
