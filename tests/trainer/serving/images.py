"""Image files, and how a client sends them."""

import base64

import cv2
import numpy as np

from trainer.serving.images import inspect
from trainer.serving.rows import Row


def image(brightness: int, size: tuple[int, int] = (8, 8), kind: str = ".png") -> bytes:
    """An image file of one grey, 0 to 255. size: height, width."""
    encoded, buffer = cv2.imencode(kind, np.full(size, brightness, np.uint8))
    assert encoded
    return buffer.tobytes()


def sent(data: bytes) -> dict:
    """An instance as a client sends it."""
    return {"image": {"b64": base64.b64encode(data).decode()}}


def of_file(data: bytes) -> Row:
    """An example of a model of images, as a request has it."""
    return Row((inspect(data),))


def seen(model, data: bytes) -> Row:
    """An example of a model of images, as the model takes it."""
    return model.rows.decoded(of_file(data))


def image_input(model):
    """What a model of images takes of a file."""
    return model.rows.fields[0].image
