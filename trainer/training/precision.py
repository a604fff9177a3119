"""Mixed precision: layers that compute with 16 bits, on weights of 32 (Micikevicius et al. 2018,
https://arxiv.org/abs/1710.03740).

Preprocessing and outputs stay in float32 (trainer.models.inputs.FLOAT), and so does the model that
is exported: it has the same weights, and layers that compute with all of them.
"""

import contextlib
from collections.abc import Iterator

import keras


@contextlib.contextmanager
def computing_in(name: str) -> Iterator[None]:
    """A context in which layers are made that compute in bfloat16 or float16; none: in float32."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32" if name == "none" else f"mixed_{name}")
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
