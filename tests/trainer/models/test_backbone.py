"""Networks of keras.applications: preprocessing, weights, and what of them is trained."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.trainer.models.test_models import images
from tests.wording import says
from trainer import models, weights
from trainer.models import ModelError, backbone
from trainer.training import distribution, phases, sample
from trellis_contracts import hyperparameters
from trellis_contracts.hyperparameters import Hyperparameters

# The fastest to build of those with batch normalization.
SMALL = "MobileNet"
SHAPE = (32, 32, 3)
NAMES = hyperparameters.schema()["backbone"]["enum"]


@pytest.fixture(scope="module")
def pretrained():
    """A small network, whose weights are not those of a new one."""
    network = backbone.network(SMALL, SHAPE)
    for variable in network.weights:
        variable.assign(np.random.default_rng(1).uniform(0.5, 1.5, variable.shape))
    return network


@pytest.fixture(scope="module")
def weights_file(pretrained, tmp_path_factory):
    """A folder with that network's weights."""
    folder = tmp_path_factory.mktemp("weights")
    pretrained.save_weights(folder / f"{SMALL}.weights.h5")
    return folder


def built(shape=SHAPE, **values):
    return models.build("backbone", images(shape, 4), Hyperparameters(backbone=SMALL, **values))


@pytest.fixture(scope="module")
def new():
    """A model without given weights."""
    return built()


@pytest.fixture(scope="module")
def given(weights_file):
    """A model with the weights of a folder, of which three layers are trained."""
    return built(weights=str(weights_file), unfrozen_layers=3)


@pytest.fixture(scope="module")
def frozen(weights_file):
    """A model with the weights of a file, of which nothing is trained."""
    return built(weights=str(weights_file / f"{SMALL}.weights.h5"), unfrozen_layers=0)


def the_network(model):
    (network,) = (layer for layer in model.layers if isinstance(layer, keras.Model))
    return network


def phases_of(model, weights_file, **values):
    h = Hyperparameters(backbone=SMALL, weights=str(weights_file), **values)
    return phases.of(model, "backbone", h)


def test_every_network_of_keras_is_known():
    found = [
        n for n, value in vars(keras.applications).items() if n[0].isupper() and callable(value)
    ]
    assert sorted(NAMES) == sorted(found)


@pytest.mark.parametrize(
    ("name", "black", "white"),
    [
        ("MobileNetV2", [-1, -1, -1], [1, 1, 1]),
        ("DenseNet121", [-2.118, -2.036, -1.804], [2.249, 2.429, 2.640]),
        ("ResNet50", [-103.939, -116.779, -123.68], [151.061, 138.221, 131.32]),
        ("EfficientNetV2B0", [0, 0, 0], [255, 255, 255]),
        ("ConvNeXtTiny", [0, 0, 0], [255, 255, 255]),
    ],
)
def test_pixels_are_preprocessed_as_the_network_was_trained(name, black, white):
    taken = keras.Input(SHAPE)
    preprocess = keras.Model(taken, backbone.preprocessing(name)(taken))
    for value, expected in ((0, black), (255, white)):
        found = preprocess(np.full((1, *SHAPE), value, np.float32)).numpy()[0, 0, 0]
        np.testing.assert_allclose(found, expected, atol=2e-3)


def test_resnet_gets_blue_first():
    red = np.zeros((1, *SHAPE), np.float32)
    red[..., 0] = 255
    taken = keras.Input(SHAPE)
    found = keras.Model(taken, backbone.preprocessing("ResNet50")(taken))(red).numpy()[0, 0, 0]
    assert found.argmax() == 2


def test_efficientnet_sees_deviations_from_the_mean():
    """After its own normalization layer, with the numbers that ImageNet's weights have there."""
    mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    taken = keras.Input(SHAPE)
    x = backbone.preprocessing("EfficientNetB0")(taken)
    x = layers.Normalization(mean=mean, variance=deviation)(layers.Rescaling(1 / 255)(x))
    pixels = np.random.default_rng(0).uniform(0, 255, (2, *SHAPE)).astype(np.float32)
    expected = (pixels / 255 - np.float32(mean)) / np.float32(deviation)
    np.testing.assert_allclose(keras.Model(taken, x)(pixels), expected, atol=1e-4)


def test_grey_images_have_three_equal_channels(new):
    grey = built((32, 32, 1))
    grey.set_weights(new.get_weights())
    pixels = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 1), np.uint8)
    np.testing.assert_array_equal(grey(pixels), new(pixels.repeat(3, 3)))


def test_images_that_are_too_small_are_refused():
    with pytest.raises(ModelError, match=r"MobileNetV2.*x8.*x32"):
        models.build("backbone", images((8, 8, 3)), Hyperparameters())


def test_the_least_size_of_every_network_is_that_of_keras():
    for name, side in hyperparameters.schema()["backbone"]["least_side"].items():
        with pytest.raises(ValueError, match=f"must be at least {side}x{side};"):
            backbone.network(name, (side - 1, 224, 3))


# The smallest network of each family of keras.applications; a family is built by one function.
FAMILIES = (
    "ConvNeXtTiny", "DenseNet121", "EfficientNetB0", "EfficientNetV2B0", "InceptionResNetV2",
    "InceptionV3", "MobileNet", "MobileNetV2", "MobileNetV3Small", "NASNetMobile", "ResNet50",
    "ResNet50V2", "VGG16", "Xception",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_layers_that_xla_cannot_compile_are_declared(name):
    words = hyperparameters.schema()["backbone"]
    inner = backbone.network(name, (96, 96, 3))
    kinds = {type(layer) for layer in distribution._layers(inner)}
    assert any(issubclass(kind, distribution._MAX_POOLING) for kind in kinds) == (
        name in words["max_pooling"]
    )
    assert any(issubclass(kind, keras.layers.BatchNormalization) for kind in kinds) == (
        name in words["batch_normalization"]
    )


@pytest.mark.parametrize("model", ["given", "frozen"])
def test_weights_come_from_a_folder_or_a_file(model, pretrained, request):
    model = request.getfixturevalue(model)
    pairs = zip(the_network(model).get_weights(), pretrained.get_weights(), strict=True)
    for found, expected in pairs:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": "imagenet"}, "downloads nothing. Name the file: `python -m trainer weights"),
        ({"weights": "nowhere/"}, "there is no nowhere/MobileNet.weights.h5. `python -m train"),
        ({"weights": "https://a.b/c.h5"}, "weights: 'https://a.b/c.h5' is not a Cloud Storage"),
        ({"backbone": "VGG16", "weights": f"{SMALL}.weights.h5"}, "is no file of weights for"),
    ],
)
def test_weights_that_cannot_be_had_are_refused(weights_file, changed, message, monkeypatch):
    monkeypatch.chdir(weights_file)
    h = Hyperparameters(**{"backbone": SMALL, **changed})
    with pytest.raises(ModelError) as error:
        models.build("backbone", images(SHAPE), h)
    assert message in str(error.value)


def test_first_the_head_is_trained_then_the_last_layers_too(given, weights_file):
    first, second = phases_of(given, weights_file, head_epochs=2, fine_tuning_rate=0.2)
    assert [phases.at([first, second], epoch) for epoch in range(4)] == [first] * 2 + [second] * 2
    assert [variable.path for variable in first.variables] == ["output/kernel", "output/bias"]
    names = {variable.path.partition("/")[0] for variable in second.variables}
    # Batch normalization lies between them.
    assert names == {"conv_pw_12", "conv_dw_13", "conv_pw_13", "output"}
    assert (first.rate, second.rate) == (1, 0.2)


def test_a_phase_can_be_left_out(given, frozen, weights_file):
    (all_at_once,) = phases_of(given, weights_file, head_epochs=0)
    assert all_at_once.rate == 0.1
    (head_alone,) = phases_of(frozen, weights_file)
    assert head_alone.rate == 1


def test_without_weights_all_is_trained_at_once(new):
    (phase,) = phases.of(new, "backbone", Hyperparameters(backbone=SMALL))
    assert len(phase.variables) == len(the_network(new).trainable_variables) + 2


@pytest.mark.parametrize("model", ["given", "new"])
def test_given_statistics_stay_as_they_are(model, request):
    kept, model = model == "given", request.getfixturevalue(model)
    before = [v.numpy() for v in model.non_trainable_variables if "moving" in v.path]
    pixels = np.random.default_rng(0).integers(0, 256, (4, *SHAPE), np.uint8)
    model(pixels, training=True)
    after = [v.numpy() for v in model.non_trainable_variables if "moving" in v.path]
    assert before
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True)) == kept


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MobileNetV2", "EfficientNetB0", "ResNet50"])
def test_downloaded_weights_give_keras_own_features(name, tmp_path, monkeypatch, capsys):
    """Keras' download is replaced by a file of its own form."""
    module = backbone.module(name)
    size = (224, 224, 3)
    network = getattr(keras.applications, name)(weights=None, include_top=False, input_shape=size)
    for layer in network.layers:
        if isinstance(layer, layers.Normalization):
            numbers = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], 0)
            layer.set_weights([np.array(number) for number in numbers])
    network.save_weights(tmp_path / "downloaded.weights.h5")
    monkeypatch.setattr(
        module.file_utils, "get_file", lambda *_, **__: str(tmp_path / "downloaded.weights.h5")
    )
    file = tmp_path / f"{name}.weights.h5"
    assert weights.main([name, str(file)]) == 0
    assert (
        f"gcloud storage cp {file} gs://BUCKET/_weights/{name}.weights.h5"
        in capsys.readouterr().out
    )
    h = Hyperparameters(backbone=name, weights=str(file))
    models.build("backbone", images(SHAPE), h)


def test_without_a_connection_nothing_is_written(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise Exception("URL fetch failure")

    monkeypatch.setattr(backbone.module(SMALL).file_utils, "get_file", refuse)
    assert weights.main([SMALL, str(tmp_path / "a.weights.h5")]) == 1
    assert says(capsys.readouterr().err, SMALL, "URL")
    assert not list(tmp_path.iterdir())


def test_each_image_of_a_row_has_a_network_and_all_wait_for_the_head(weights_file):
    shapes = {"left": SHAPE, "right": (40, 32, 3)}
    kinds = {**dict.fromkeys(shapes, "image"), "age": "numeric"}
    dataset = sample.rows("binary_classification", 2, kinds, shapes=shapes)
    h = Hyperparameters(
        backbone=SMALL, weights=str(weights_file), unfrozen_layers=1, head_epochs=2
    )  # fmt: skip
    model = models.build("backbone", dataset, h)
    networks = [layer for layer in model.layers if isinstance(layer, keras.Model)]
    assert len({network.name for network in networks}) == 2
    below = {id(v) for network in networks for v in network.trainable_variables}
    assert len(below) == sum(len(network.trainable_variables) for network in networks) > 0
    first, second = phases.of(model, "backbone", h)
    assert not below & {id(v) for v in first.variables}
    assert {id(v) for v in second.variables} - {id(v) for v in first.variables} == below
