"""What a SavedModel holds of a model: what its signatures read, once."""

import keras
import tensorflow as tf
from keras import layers

from trainer.training.archive import Archive


def test_weights_and_lookup_tables_that_a_function_reads_are_saved_once(tmp_path):
    codes = keras.Input([1], dtype="int64")
    known = layers.IntegerLookup(vocabulary=[7, 9], output_mode="multi_hot")(codes)
    model = keras.Model(codes, layers.Dense(2)(known))
    archive = Archive(model)
    archive.add("stored", tf.function(model, [tf.TensorSpec([None, 1], tf.int64)], autograph=False))
    archive.add_constants("classes", {"classes": ["a", "b"]})
    archive.write(tmp_path)
    rows = tf.constant([[9], [8]], tf.int64)
    loaded = tf.saved_model.load(str(tmp_path)).signatures
    (answer,) = loaded["stored"](rows).values()
    assert answer.numpy().tolist() == model(rows).numpy().tolist()
    assert loaded["classes"]()["classes"].numpy().tolist() == [b"a", b"b"]
    saved = [shape for _, shape in tf.train.list_variables(str(tmp_path / "variables/variables"))]
    assert sorted(shape for shape in saved if shape) == [[2], [3, 2]]
