"""Uploads made-up chest X-rays to the bucket: 800 grey pictures of 48x48 pixels, of 160 patients.

Two dark lungs on a brighter ground, and in them any number of findings: a mass is a bright disc, a
nodule a small one, an effusion fills the bottom of a lung, a pneumothorax darkens its outer edge. A
patient's bones are alike in all pictures, and so is what the patient tends to have. Runs in the
trainer environment with the variables of `local_gcp env`; demo/pictures.py says what it writes.

    python -m demo.chest_xrays_data gs://BUCKET/chest-xrays/
"""

import sys
from collections.abc import Iterator

import cv2
import numpy as np

from demo import pictures

SIDE = 48
PATIENTS, OF_EACH = 160, 5
SHARES = {"effusion": 0.3, "mass": 0.2, "nodule": 0.25, "pneumothorax": 0.1}
# Centres of both lungs, and their half axes.
LUNGS, AXES = ((15, 24), (33, 24)), (7, 15)


def main(folder: str) -> None:
    pictures.load(folder, pictures_of_patients)


def pictures_of_patients() -> Iterator[tuple[str, str, np.ndarray]]:
    """(name, findings and patient, pixels) of each picture, the same at every call."""
    random = np.random.default_rng(2)
    for patient in range(PATIENTS):
        bones = random.normal(0, 6, SIDE // 6)
        tends = random.gamma(1, 1)
        for number in range(OF_EACH):
            present = [name for name, share in SHARES.items() if random.random() < share * tends]
            after = ",".join([*present, f"patient {patient}"])
            yield f"{patient:03d}-{number}", after, _picture(present, bones, random)


def _picture(findings: list[str], bones: np.ndarray, random: np.random.Generator) -> np.ndarray:
    pixels = np.full((SIDE, SIDE), 150, np.uint8)
    for centre in LUNGS:
        cv2.ellipse(pixels, centre, AXES, 0, 0, 360, 70, -1)
    lung = pixels < 100
    for finding in findings:
        x, y = LUNGS[random.integers(2)]
        dx, dy = (int(by) for by in random.integers(-3, 4, 2))
        drawn = np.zeros_like(pixels)
        if finding == "mass":
            cv2.circle(drawn, (x + dx, y + dy), 4, 1, -1)
            pixels[(drawn == 1) & lung] = 160
        elif finding == "nodule":
            cv2.circle(drawn, (x + dx, y + 2 * dy), 1, 1, -1)
            pixels[(drawn == 1) & lung] = 190
        elif finding == "effusion":
            drawn[y + 9 + dy // 2 :, x - AXES[0] : x + AXES[0] + 1] = 1
            pixels[(drawn == 1) & lung] = 135
        else:
            outer = -1 if x < SIDE // 2 else 1
            cv2.ellipse(drawn, (x - 4 * outer, y), AXES, 0, 0, 360, 1, -1)
            side = np.zeros_like(drawn)
            side[:, min(x, x + outer * AXES[0]) : max(x, x + outer * AXES[0]) + 1] = 1
            pixels[(drawn == 0) & (side == 1) & lung] = 20
    ribs = np.repeat(bones, 6)[:SIDE, None]
    noisy = pixels + ribs + random.normal(0, 8, pixels.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main(sys.argv[1])
