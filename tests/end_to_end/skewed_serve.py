"""trainer.serve by somebody who normalised pixels another way than training did: half as bright.

Every answer is well formed, and most labels are right: what only a smoke test finds.
"""

import dataclasses
import sys

import cv2
import numpy as np

from trainer import serve
from trainer.serving.model import ImageModel


def darker(image):
    pixels = cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_UNCHANGED)
    _, encoded = cv2.imencode(".png", pixels // 2)
    return dataclasses.replace(image, data=encoded.tobytes())


def predict(self, images, as_trained=ImageModel.predict):
    return as_trained(self, [darker(image) for image in images])


if __name__ == "__main__":
    ImageModel.predict = predict
    sys.exit(serve.main())
