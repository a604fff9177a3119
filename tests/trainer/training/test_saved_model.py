"""The exported model as a server sees it: bytes in, probabilities out."""

import cv2
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from testbed.predicting import predict
from trainer import dataset_description, models
from trainer.training import saved_model
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.saved_model import KERAS


@pytest.fixture(scope="module")
def dataset(few_digits):
    return dataset_description.load(few_digits)


@pytest.fixture(scope="module")
def model(dataset):
    keras.utils.set_random_seed(1)
    return models.build("dense", dataset, Hyperparameters())


@pytest.fixture(scope="module")
def exported(model, dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "model"
    saved_model.export(model, dataset, folder)
    return folder


def test_the_signature_is_the_one_that_servers_call(exported):
    signature = tf.saved_model.load(str(exported)).signatures["serving_default"]
    (name, specification), *others = signature.structured_input_signature[1].items()
    assert not others
    assert name == "image"
    assert (specification.dtype, specification.shape.as_list()) == (tf.string, [None])
    outputs = signature.structured_outputs
    assert outputs["probabilities"].shape.as_list() == [None, 10]
    assert outputs["label"].dtype == tf.string


def test_what_is_served_is_what_was_trained(exported, model, dataset, digits_arrays):
    """Encoded images of the stored size give exactly the trained model's probabilities."""
    pixels = digits_arrays[0][:20]
    images = [cv2.imencode(".png", image)[1].tobytes() for image in pixels]
    served = tf.saved_model.load(str(exported)).signatures["serving_default"](
        image=tf.constant(images)
    )
    expected = tf.nn.softmax(model(pixels)).numpy()
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-6)
    np.testing.assert_allclose(served["probabilities"].numpy().sum(axis=1), 1, atol=1e-5)
    names = [dataset.classes[index].encode() for index in expected.argmax(axis=1)]
    assert served["label"].numpy().tolist() == names


def test_a_client_may_send_images_of_any_size(exported, digits_arrays):
    large = cv2.resize(digits_arrays[0][0], (64, 64), interpolation=cv2.INTER_NEAREST)
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    images = [cv2.imencode(".png", i)[1].tobytes() for i in (large, digits_arrays[0][0])]
    probabilities = serve(image=tf.constant(images))["probabilities"].numpy()
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-5)


def test_a_server_calls_it_with_pixels(exported, model, dataset, digits_arrays):
    signature = tf.saved_model.load(str(exported)).signatures["pixels"]
    specification = signature.structured_input_signature[1]["image"]
    assert specification.shape.as_list() == [None, *dataset.features[0].image_shape]
    pixels = digits_arrays[0][:20]
    answers = signature(image=tf.constant(pixels))
    expected = tf.nn.softmax(model(pixels)).numpy()
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-6)


def test_a_model_predicts_before_it_is_saved_what_it_will_predict(
    exported, model, few_digits, dataset
):
    of_file, of_model = (
        predict(source, few_digits, dataset, "test") for source in (exported, model)
    )
    assert of_file[0].tolist() == of_model[0].tolist()
    np.testing.assert_allclose(of_file[2], of_model[2], rtol=0, atol=1e-6)


def test_the_signatures_share_the_network(exported, model):
    """But for `gradient`, which takes other pixels, and has it forward and back."""
    saved = saved_model_pb2.SavedModel.FromString((exported / KERAS).read_bytes())
    functions = saved.meta_graphs[0].graph_def.library.function
    products = [node for each in functions for node in each.node_def if node.op == "MatMul"]
    layers = [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    # Back, a layer has a product for its input's gradient and one for its weights'.
    assert len(products) == (1 + 3) * len(layers)


def test_predictions_cover_the_split_once(exported, few_digits, dataset, digits_arrays):
    keys, labels, probabilities = predict(exported, few_digits, dataset, "test")
    # few_digits deals out images in order: 161 to train, 37 to validation, then test.
    assert keys.tolist() == [f"images/{row:05d}.png" for row in range(198, 242)]
    assert labels.tolist() == digits_arrays[1][198:242].tolist()
    assert probabilities.shape == (44, 10)
    assert probabilities.dtype == np.float32
