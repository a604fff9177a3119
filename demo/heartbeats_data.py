"""Loads a made-up table of sequences into BigQuery: intervals between heartbeats.

Runs in the trainer environment (NumPy and BigQuery's client live there together) with the variables
of `local_gcp env`, through Google's client. Creates the table DATASET.TABLE of 3,000 rows. In a
regular rhythm, breathing makes the intervals longer and shorter in turn; those of an irregular one
have the same mean and spread, in random order. No number about a recording distinguishes them, only
the order does.

recording   STRING, recording-0001 ...
age         INT64, years; says nothing
intervals   ARRAY<FLOAT64>, seconds; 20 to 60 of them
rhythm      STRING, regular or irregular

    python -m demo.heartbeats_data PROJECT.DATASET.TABLE
"""

import sys

import numpy as np
from google.cloud.bigquery import SchemaField

from demo import tables

RECORDINGS = 3000


def main(name: str) -> None:
    tables.load(name, *table())


def table() -> tuple[list[SchemaField], list[dict]]:
    """The table's columns, and its rows as JSON values."""
    random = np.random.default_rng(1)
    fields = [
        SchemaField("recording", "STRING", "REQUIRED"),
        SchemaField("age", "INT64", "REQUIRED"),
        SchemaField("intervals", "FLOAT64", "REPEATED"),
        SchemaField("rhythm", "STRING", "REQUIRED"),
    ]
    rows = []
    for number in range(1, RECORDINGS + 1):
        beats = int(random.integers(20, 61))
        breath = 2 * np.pi * np.arange(beats) / random.uniform(6, 10) + random.uniform(0, 2 * np.pi)
        mean, spread = random.uniform(0.6, 1.0), random.uniform(0.05, 0.1)
        intervals = mean + spread * np.sin(breath) + random.normal(0, 0.02, beats)
        irregular = random.random() < 0.4
        if irregular:
            random.shuffle(intervals)
        rows.append(
            {
                "recording": f"recording-{number:04d}",
                "age": int(random.integers(20, 91)),
                "intervals": np.round(intervals, 3).tolist(),
                "rhythm": "irregular" if irregular else "regular",
            }
        )
    return fields, rows


if __name__ == "__main__":
    main(sys.argv[1])
