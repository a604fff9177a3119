"""Uploads real images to the bucket: scikit-learn's bundled digits, as a lab would have them.

Runs in the trainer environment (scikit-learn and OpenCV live there) with the variables of
`local_gcp env`, through Google's Storage client. Writes below gs://BUCKET/digits/:

images/DIGIT-NUMBER.png   1,797 greyscale pictures of 8x8 pixels (UCI Optical Recognition of
                          Handwritten Digits, test part; as shipped with scikit-learn)
manifest.csv              gs://...png,label: the format that Vertex AI image datasets import

    python -m demo.digits_data gs://BUCKET/digits/
"""

import sys
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits

from demo import pictures


def main(folder: str) -> None:
    pictures.load(folder, digits)


def digits() -> Iterator[tuple[str, str, np.ndarray]]:
    """(name, label, pixels) of each digit."""
    source = load_digits()
    for number, (pixels, label) in enumerate(zip(source.images, source.target, strict=True)):
        # The source counts 0 to 16 inked pixels of each 4x4 block.
        grey = np.round(pixels * (255 / 16)).astype(np.uint8)
        yield f"{label}-{number:04d}", str(label), grey


if __name__ == "__main__":
    main(sys.argv[1])
