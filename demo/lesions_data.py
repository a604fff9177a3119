"""Uploads made-up photographs of skin lesions, and loads a table of them: one row for each.

Whether a lesion is malignant depends on its picture and its columns together: an irregular outline
is a bad sign where the sun does not reach, a smooth one where it does; age says a little. Irregular
outlines and covered sites are more frequent, so that each alone says something, but not much. Runs
in the trainer environment with the variables of `local_gcp env`. The pictures are in
BUCKET/lesions/images/; the table has 900 rows:

lesion       STRING, lesion-0001 ...
patient      STRING, three lesions each
photo        STRING, gs://BUCKET/lesions/images/NAME.png
age          INT64, years
site         STRING: face, hand, sole or trunk
malignant    BOOL

    python -m demo.lesions_data gs://BUCKET/lesions/ PROJECT.DATASET.TABLE
"""

import sys
from collections.abc import Iterator

import cv2
import numpy as np
from google.cloud.bigquery import SchemaField

from demo import pictures, tables

SIDE = 32
PATIENTS, OF_EACH = 300, 3
EXPOSED, COVERED = ("face", "hand"), ("sole", "trunk")


def main(folder: str, name: str) -> None:
    pictures.upload(folder, ((row["lesion"], pixels) for row, pixels in lesions()))
    fields = [
        SchemaField("lesion", "STRING", "REQUIRED"),
        SchemaField("patient", "STRING", "REQUIRED"),
        SchemaField("photo", "STRING", "REQUIRED"),
        SchemaField("age", "INT64", "REQUIRED"),
        SchemaField("site", "STRING", "REQUIRED"),
        SchemaField("malignant", "BOOL", "REQUIRED"),
    ]
    photos = f"{folder.rstrip('/')}/images"
    rows = [{**row, "photo": f"{photos}/{row['lesion']}.png"} for row, _ in lesions()]
    tables.load(name, fields, rows)


def lesions() -> Iterator[tuple[dict, np.ndarray]]:
    """(row without its photo, pixels in BGR) of each lesion, the same at every call."""
    random = np.random.default_rng(4)
    for patient in range(1, PATIENTS + 1):
        age = int(random.integers(25, 90))
        skin = random.integers(0, 40)
        for number in range(1, OF_EACH + 1):
            site = str(random.choice([*EXPOSED, *COVERED], p=[0.175, 0.175, 0.325, 0.325]))
            irregular = bool(random.random() < 0.65)
            risk = 4.5 if irregular == (site in COVERED) else -4.5
            risk += 0.03 * (age - 57)
            row = {
                "lesion": f"lesion-{OF_EACH * (patient - 1) + number:04d}",
                "patient": f"patient-{patient:03d}",
                "age": age,
                "site": site,
                "malignant": bool(random.random() < 1 / (1 + np.exp(-risk))),
            }
            yield row, _picture(irregular, skin, random)


def _picture(irregular: bool, skin: int, random: np.random.Generator) -> np.ndarray:
    """A brown spot on skin; its outline is a circle, or has teeth."""
    pixels = np.full((SIDE, SIDE, 3), (150 - skin, 170 - skin, 215 - skin), np.uint8)
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    waves = 0.35 * np.sign(np.sin(9 * angles + random.uniform(0, 6))) if irregular else 0
    radius = random.uniform(7, 10) * (1 + waves)
    centre = random.uniform(13, 19, 2)
    outline = centre + np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)
    cv2.fillPoly(pixels, [np.round(outline).astype(np.int32)], (45, 60, 95))
    return np.clip(pixels + random.normal(0, 10, pixels.shape), 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main(*sys.argv[1:])
