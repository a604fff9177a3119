"""The hyperparameters of the models in this package, by the model that reads them.

Each names the paper that it comes from, where there is one. common_hyperparameters.py has
those of every model.
"""

from dataclasses import dataclass

from trellis_contracts.hyperparameter_field import hyperparameter
from trellis_contracts.tasks import OF_PIXELS

_WITH_HIDDEN_LAYERS = ("dense", "residual", "wide_and_deep", "recurrent", "transformer")
_OF_IMAGES = ("convolutional", "vision_transformer", "backbone")
_CONVOLUTIONS = ("convolutional", "unet")
_TRANSFORMERS = ("transformer", "vision_transformer")

# keras.applications, by name; a test compares. Here, because Keras takes seconds to import.
_BACKBONES = [
    "ConvNeXtBase",
    "ConvNeXtLarge",
    "ConvNeXtSmall",
    "ConvNeXtTiny",
    "ConvNeXtXLarge",
    "DenseNet121",
    "DenseNet169",
    "DenseNet201",
    "EfficientNetB0",
    "EfficientNetB1",
    "EfficientNetB2",
    "EfficientNetB3",
    "EfficientNetB4",
    "EfficientNetB5",
    "EfficientNetB6",
    "EfficientNetB7",
    "EfficientNetV2B0",
    "EfficientNetV2B1",
    "EfficientNetV2B2",
    "EfficientNetV2B3",
    "EfficientNetV2L",
    "EfficientNetV2M",
    "EfficientNetV2S",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Large",
    "MobileNetV3Small",
    "NASNetLarge",
    "NASNetMobile",
    "ResNet101",
    "ResNet101V2",
    "ResNet152",
    "ResNet152V2",
    "ResNet50",
    "ResNet50V2",
    "VGG16",
    "VGG19",
    "Xception",
]

# Least sides of an image, in pixels, if it is more than that of most; a test compares.
_LEAST_SIDE = {"InceptionResNetV2": 75, "InceptionV3": 75, "Xception": 71}
_LEAST_SIDE_OF_MOST = 32
_MOST_BLOCKS = 8

# Networks without max pooling, and without batch normalization, by the start of their names; a test
# compares.
_NO_MAX_POOLING = ("ConvNeXt", "EfficientNet", "MobileNet")
_NO_BATCH_NORMALIZATION = ("ConvNeXt", "VGG")


@dataclass(frozen=True, kw_only=True)
class OfModels:
    """Hyperparameters of one or several models, beside those of every model."""

    dropout: float = hyperparameter(
        0.0,
        "share of activations set to zero in training: after every hidden layer, in every block of "
        "residual and of the transformers, before the output of convolutional and backbone, below "
        "the last block of unet",
        minimum=0,
        exclusiveMaximum=1,
    )
    layers: int = hyperparameter(
        2,
        "fully connected hidden layers; of residual, blocks of two",
        unit="layers",
        minimum=1,
        maximum=8,
        models=_WITH_HIDDEN_LAYERS,
    )
    units: int = hyperparameter(
        128,
        "width of each hidden layer",
        unit="units",
        minimum=1,
        maximum=4096,
        models=_WITH_HIDDEN_LAYERS,
    )
    embedding: int = hyperparameter(
        8,
        "learned numbers that stand for one value of a categorical feature",
        unit="numbers",
        minimum=1,
        maximum=256,
        models=(*_WITH_HIDDEN_LAYERS, *_OF_IMAGES),
        inputs=["table"],
    )
    cross_buckets: int = hyperparameter(
        1000,
        "weights that the values of two categorical features together share by a hash, for every "
        "pair of features; 0: none (https://arxiv.org/abs/1606.07792)",
        unit="weights",
        minimum=0,
        maximum=1_000_000,
        models=("wide_and_deep",),
    )
    series: str = hyperparameter(
        "separate",
        "reading of a row's sequences: separate, each by itself; or together, as one series of "
        "several values a step, one of which may be the time of the step",
        enum=["separate", "together"],
        models=("recurrent", "transformer"),
    )
    cell: str = hyperparameter(
        "gru",
        "unit that reads a sequence step by step: gru (https://arxiv.org/abs/1406.1078) or lstm "
        "(https://doi.org/10.1162/neco.1997.9.8.1735)",
        enum=["gru", "lstm"],
        models=("recurrent",),
    )
    cell_units: int = hyperparameter(
        32,
        "width of the state in which a cell summarizes a sequence, one cell for each sequence "
        "feature",
        unit="units",
        minimum=1,
        maximum=1024,
        models=("recurrent",),
    )
    bidirectional: bool = hyperparameter(
        False,
        "read each sequence from its end, too, with a second cell "
        "(https://doi.org/10.1109/78.650093)",
        models=("recurrent",),
    )
    attention_blocks: int = hyperparameter(
        2,
        "blocks of attention and of two layers for each step or patch "
        "(https://arxiv.org/abs/1706.03762)",
        unit="blocks",
        minimum=1,
        maximum=24,
        models=_TRANSFORMERS,
    )
    heads: int = hyperparameter(
        4,
        "attentions that a block computes side by side",
        unit="heads",
        minimum=1,
        maximum=16,
        models=_TRANSFORMERS,
    )
    head_units: int = hyperparameter(
        16,
        "width of each head; a step or patch is heads times this wide",
        unit="units",
        minimum=1,
        maximum=128,
        models=_TRANSFORMERS,
    )
    patches: int = hyperparameter(
        7,
        "squares that an image is cut into along its longer side, of ceil(side / patches) pixels: "
        "7 of 224 pixels make 32x32 (https://arxiv.org/abs/2010.11929)",
        unit="patches",
        minimum=1,
        maximum=64,
        models=("vision_transformer",),
    )
    blocks: int = hyperparameter(
        2,
        "blocks of two convolutions and a pooling that halves height and width, of unet followed "
        "by as many that double both; an image must be at least 2 to the power of this wide and "
        "high",
        unit="blocks",
        minimum=1,
        maximum=_MOST_BLOCKS,
        least_side={str(blocks): 2**blocks for blocks in range(1, _MOST_BLOCKS + 1)},
        models=_CONVOLUTIONS,
    )
    filters: int = hyperparameter(
        32,
        "filters of the first block's convolutions; every further block has twice as many, up to "
        "512",
        unit="filters",
        minimum=1,
        maximum=512,
        models=_CONVOLUTIONS,
    )
    kernel: int = hyperparameter(
        3,
        "height and width of the convolutions",
        unit="pixels",
        enum=[1, 3, 5, 7],
        models=_CONVOLUTIONS,
    )
    patch: int = hyperparameter(
        0,
        "side of the square patches that are cut at random from training images, another one in "
        "every epoch, for images that are too large for a model as a whole; masks are put together "
        "from overlapping tiles of this size. 0: whole images",
        unit="pixels",
        minimum=0,
        maximum=4096,
        models=("unet", "backbone"),
        inputs=["image"],
        tasks=[*OF_PIXELS],
    )
    backbone: str = hyperparameter(
        "MobileNetV2",
        "network of https://keras.io/api/applications that turns an image into features",
        enum=_BACKBONES,
        least_side={name: _LEAST_SIDE.get(name, _LEAST_SIDE_OF_MOST) for name in _BACKBONES},
        max_pooling=[name for name in _BACKBONES if not name.startswith(_NO_MAX_POOLING)],
        batch_normalization=[
            name for name in _BACKBONES if not name.startswith(_NO_BATCH_NORMALIZATION)
        ],
        models=("backbone",),
    )
    weights: str = hyperparameter(
        "none",
        "initial weights of the backbone: none (random, and all of it is trained); the gs:// "
        "address of a file that `python -m trainer weights` wrote, or of a folder with "
        "NAME.weights.h5; or imagenet, which an experiment takes from gs://BUCKET/_weights/",
        models=("backbone",),
    )
    head_epochs: int = hyperparameter(
        3,
        "first phase with weights given: epochs in which the output layer alone is trained",
        unit="epochs",
        minimum=0,
        maximum=10_000,
        idle_with={"weights": ["none"]},
        models=("backbone",),
    )
    unfrozen_layers: int = hyperparameter(
        10,
        "second phase with weights given: layers of the backbone, from its end, that are trained, "
        "too. Batch normalization is not counted: it stays as it is; 0: there is no second phase",
        unit="layers",
        minimum=0,
        maximum=10_000,
        idle_with={"weights": ["none"]},
        models=("backbone",),
    )
    fine_tuning_rate: float = hyperparameter(
        0.1,
        "factor of the learning rate in the second phase, which has a warm-up of its own",
        exclusiveMinimum=0,
        maximum=1,
        idle_with={"weights": ["none"]},
        models=("backbone",),
    )
