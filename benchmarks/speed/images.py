"""Images a second of CPU time of one thread through the export's conversion.

The inputs are synthetic, but as large and as hard to compress as photographs.
"""

import io
import time
from contextlib import contextmanager

import cv2
import numpy as np
from PIL import Image, ImageOps

from trainer.exporting.images.convert import convert
from trellis_contracts.dataset_features import Feature


def scene(height, width):
    """Smooth colours with sensor noise, as uint8 BGR."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.int16)
    return (smooth + random.integers(-8, 9, smooth.shape)).clip(0, 255).astype(np.uint8)


def with_pillow(data, encoding):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    image = image.resize((224, 224), Image.Resampling.BOX)
    buffer = io.BytesIO()
    image.save(buffer, encoding.upper(), quality=95)
    return buffer.getvalue()


def rate(work, count):
    start = time.process_time()
    for _ in range(count):
        work()
    return count / (time.process_time() - start)


@contextmanager
def candidates(height, width, extension, encoding, count):
    cv2.setNumThreads(1)
    data = cv2.imencode(extension, scene(height, width))[1].tobytes()
    pixels = np.frombuffer(data, np.uint8)
    feature = Feature("image", "image", "uint8", encoding, (224, 224, 3))
    yield {
        "ours": lambda: rate(lambda: convert(data, feature, "train"), count),
        "peer": lambda: rate(lambda: with_pillow(data, encoding), count),
        "limit": lambda: rate(lambda: cv2.imdecode(pixels, cv2.IMREAD_COLOR), count),
    }


def jpeg(_):
    return candidates(400, 500, ".jpg", "jpeg", 100)


def png(_):
    return candidates(400, 500, ".png", "png", 50)


def large(_):
    return candidates(3000, 4000, ".jpg", "jpeg", 5)
