"""Writes DICOM files and TIFF files of two pages, with a manifest: bright and dark ones.

    python -m tests.trellis.workflow.programs.write_scans FOLDER gs://BUCKET/FOLDER

Runs in the trainer's environment. The second page of a TIFF says the opposite.
"""

import sys
from pathlib import Path

import numpy as np
import tifffile

from tests.trainer.images.dicom import dicom

folder, address = Path(sys.argv[1]), sys.argv[2]
random = np.random.default_rng(0)
folder.mkdir(parents=True)
(folder / "new").mkdir()
lines = []
for n in range(160):
    label = ("dark", "bright")[n // 2 % 2]
    middle = {"dark": 80, "bright": 170}[label]
    pixels = random.normal(middle, 30, (16, 16)).clip(0, 255).astype(np.uint8)
    if n % 2:
        name, data = f"{n:03d}.dcm", dicom(pixels)
        (folder / name).write_bytes(data)
    else:
        name = f"{n:03d}.tif"
        tifffile.imwrite(folder / name, np.stack([pixels, 255 - pixels]), photometric="minisblack")
    if n < 20:
        (folder / "new" / name).write_bytes((folder / name).read_bytes())
    lines.append(f"{address}/{name},{label}\n")
(folder / "manifest.csv").write_text("".join(lines))
