"""The hyperparameters of every Keras model, with the papers that they come from.

model_hyperparameters.py has those of single models.
"""

from dataclasses import dataclass

from trellis_contracts.hyperparameter_field import hyperparameter
from trellis_contracts.tasks import NAMED, OF_CLASSES, OF_EXAMPLES, OF_PIXELS, OF_TIMES

_CLASSIFICATION = [*NAMED]


@dataclass(frozen=True, kw_only=True)
class OfEveryModel:
    """Fields only; hyperparameters.py makes tables of them."""

    learning_rate: float = hyperparameter(
        0.001,
        "step size of one replica; with several, whose batches add up, learning_rate_scaling "
        "raises it",
        exclusiveMinimum=0,
        maximum=1,
    )
    mixed_precision: str = hyperparameter(
        "none",
        "numbers that layers compute with in training, beside weights of float32 "
        "(https://arxiv.org/abs/1710.03740): less memory, and faster on GPUs from Volta (float16) "
        "or Ampere (bfloat16) on. float16 scales the loss, and leaves out a step whose gradient "
        "overflows. Predictions are made in float32, by the exported model",
        enum=["none", "bfloat16", "float16"],
    )
    jit_compile: bool = hyperparameter(
        False,
        "compile a step's forward and backward pass with XLA (https://openxla.org/xla): faster "
        "where layers are many and small, after a compilation of seconds to minutes; not with "
        "sequences, whose length differs from batch to batch, nor with max pooling unless "
        "deterministic is false",
        # Recurrent and transformer are for sequences.
        without=("recurrent", "transformer"),
    )
    deterministic: bool = hyperparameter(
        True,
        "the same seed gives the same weights, bit for bit, on the same machines; false lets "
        "TensorFlow take operations whose sums have no fixed order, which are faster on GPUs, and "
        "jit_compile max pooling",
    )
    learning_rate_scaling: str = hyperparameter(
        "by_optimizer",
        "factor of the learning rate on r replicas: r (linear), the square root of r "
        "(square_root), or 1 (none). by_optimizer: linear for sgd "
        "(https://arxiv.org/abs/1706.02677), square_root for the others "
        "(https://arxiv.org/abs/2205.10287)",
        enum=["by_optimizer", "linear", "square_root", "none"],
    )
    batch_size: int = hyperparameter(
        32,
        "examples that one replica sees at once; the global batch of a step is this times the "
        "replicas, times accumulation",
        unit="examples",
        minimum=1,
        maximum=65536,
    )
    optimizer: str = hyperparameter(
        "adam",
        "update rule; adam with weight_decay is AdamW; sgd has Nesterov momentum 0.9; lamb: "
        "https://arxiv.org/abs/1904.00962; lion: https://arxiv.org/abs/2302.06675, whose "
        "learning_rate should be 3 to 10 times smaller than adam's",
        enum=["adam", "sgd", "rmsprop", "lamb", "lion"],
    )
    schedule: str = hyperparameter(
        "constant",
        "the learning rate after the warm-up: the same until a plateau (constant), or falling to 0 "
        "at the last epoch's end (cosine, https://arxiv.org/abs/1608.03983); one_cycle, without "
        "warmup_epochs, rises for three tenths of the steps and falls nearly to 0 "
        "(https://arxiv.org/abs/1708.07120)",
        enum=["constant", "cosine", "one_cycle"],
    )
    clip_norm: float = hyperparameter(
        0.0,
        "the gradient of a global batch, of all weights together, is scaled down to this norm if "
        "it is longer (https://arxiv.org/abs/1211.5063); 0: never",
        minimum=0,
        maximum=1_000_000,
    )
    accumulation: int = hyperparameter(
        1,
        "batches of batch_size whose gradients one replica adds up for one step: a larger global "
        "batch in the same memory; the learning rate is not raised for it",
        unit="batches",
        minimum=1,
        maximum=1024,
    )
    weight_averaging: float = hyperparameter(
        0.0,
        "share that a running average of the weights keeps at every step, 0.999 say; the averages "
        "are evaluated and exported in place of the last weights "
        "(https://arxiv.org/abs/1703.01780); 0: no averages",
        minimum=0,
        exclusiveMaximum=1,
    )
    warmup_epochs: float = hyperparameter(
        1.0,
        "time in which the learning rate rises in a straight line to its full value",
        unit="epochs",
        minimum=0,
        maximum=100,
        idle_with={"schedule": ["one_cycle"]},
    )
    warmup_share: float = hyperparameter(
        0.0,
        "the same time as a share of all steps, in place of warmup_epochs; 0: warmup_epochs counts",
        minimum=0,
        exclusiveMaximum=1,
        idle_with={"schedule": ["one_cycle"]},
    )
    weight_decay: float = hyperparameter(
        0.0,
        "share of each kernel taken off per step, times the learning rate (decoupled decay, "
        "https://arxiv.org/abs/1711.05101); biases and normalization are left alone",
        minimum=0,
        maximum=1,
    )
    loss: str = hyperparameter(
        "cross_entropy",
        "loss that training minimizes; focal: cross-entropy times (1 - p) to the power of "
        "focal_gamma, p being the true class's probability, so that easily classified examples "
        "count less (https://arxiv.org/abs/1708.02002); of masks, both are means over the pixels, "
        "and dice is 1 minus the Dice coefficient of the probabilities, averaged over the classes "
        "but the background (https://arxiv.org/abs/1606.04797), so that small regions count as "
        "much as large ones, alone or added to the cross-entropy; the reported loss is the "
        "cross-entropy",
        enum=["cross_entropy", "focal", "dice", "cross_entropy+dice"],
        of_tasks={word: [*OF_PIXELS] for word in ("dice", "cross_entropy+dice")},
        tasks=[*OF_CLASSES],
    )
    focal_gamma: float = hyperparameter(
        2.0,
        "exponent of the focal loss: the larger, the less easily classified examples count; 0: as "
        "much as all",
        minimum=0,
        maximum=10,
        tasks=[*OF_CLASSES],
        idle_with={"loss": ["cross_entropy", "dice", "cross_entropy+dice"]},
    )
    class_weights: str = hyperparameter(
        "none",
        "weights of the examples of each class in the loss that training minimizes; metrics, the "
        "reported loss among them, count all alike. balanced: examples / (classes * examples of "
        "the class), of the train split, so that rare classes count as much as frequent ones; or "
        "weights by class, 1 for those that are not named. Of a multi-label task a class and its "
        "absence are two classes: balanced is over both, a named weight that of the class",
        enum=["none", "balanced"],
        by_class={"exclusiveMinimum": 0, "maximum": 1_000_000},
        tasks=_CLASSIFICATION,
    )
    label_smoothing: float = hyperparameter(
        0.0,
        "share of the target probability spread evenly over all classes, of a multi-label task "
        "over a class and its absence; the reported loss is without it",
        minimum=0,
        exclusiveMaximum=1,
        tasks=_CLASSIFICATION,
    )
    objective: str = hyperparameter(
        "hazards",
        "model of the time to an event. hazards: a probability of the event for each interval of "
        "time, given that it has not happened before (https://doi.org/10.7717/peerj.6257); cox: "
        "proportional hazards, by the partial likelihood of the events of a global batch, ties by "
        "Efron (https://doi.org/10.1080/01621459.1977.10480613), and Breslow's baseline of the "
        "train split. Each batch has to hold several events",
        enum=["hazards", "cox"],
        tasks=[*OF_TIMES],
    )
    intervals: int = hyperparameter(
        20,
        "intervals of time, with about as many events of the train split in each",
        unit="intervals",
        minimum=2,
        maximum=200,
        tasks=[*OF_TIMES],
        idle_with={"objective": ["cox"]},
    )
    augment: bool = hyperparameter(
        False,
        "shift each training image at random, by up to an eighth of its height and width, "
        "differently in every epoch; a mask with its image",
        inputs=["image"],
    )
    flip: bool = hyperparameter(
        False,
        "mirror each training image left to right at random, differently in every epoch; a mask "
        "with its image",
        inputs=["image"],
    )
    rand_augment: float = hyperparameter(
        0.0,
        "strength of RandAugment (https://arxiv.org/abs/1909.13719): two of eleven operations, "
        "such as rotation, contrast and posterization, on each training image, the same two for "
        "all images of a batch, differently in every epoch; 0: none",
        minimum=0,
        maximum=1,
        inputs=["image"],
        # It moves pixels, and would have to move those of a mask with them.
        tasks=[*OF_EXAMPLES],
    )
    mix: str = hyperparameter(
        "none",
        "make each training image of two, differently in every epoch, and have it count for both "
        "labels by their shares: mixup, weighted means (https://arxiv.org/abs/1710.09412), or "
        "cutmix, a rectangle of one in the other (https://arxiv.org/abs/1905.04899). The loss and "
        "accuracy reported of training are those of mixed images",
        enum=["none", "mixup", "cutmix"],
        inputs=["image"],
        # A number in between, as of two ages, need not be that of the mixed image.
        tasks=_CLASSIFICATION,
    )
    mix_alpha: float = hyperparameter(
        0.2,
        "both parameters of the beta distribution that shares are drawn from: near 0, nearly all "
        "is of one image; 1: all shares alike, as in the paper on cutmix",
        exclusiveMinimum=0,
        maximum=1,
        inputs=["image"],
        tasks=_CLASSIFICATION,
        idle_with={"mix": ["none"]},
    )
    early_stopping_patience: int = hyperparameter(
        10,
        "stop after this many epochs in a row without a better metric on the validation split; "
        "0: never",
        unit="epochs",
        minimum=0,
        maximum=10_000,
    )
    min_delta: float = hyperparameter(
        0.0,
        "an epoch is better only if its metric is so by more than this; the weights that are kept "
        "are those of the last epoch that was better",
        minimum=0,
        maximum=1_000_000,
    )
    plateau_patience: int = hyperparameter(
        5,
        "multiply the learning rate by plateau_factor after this many epochs in a row without a "
        "better validation loss, if the schedule is constant; 0: never",
        unit="epochs",
        minimum=0,
        maximum=10_000,
        idle_with={"schedule": ["cosine", "one_cycle"]},
    )
    plateau_factor: float = hyperparameter(
        0.5,
        "factor of the learning rate on a plateau",
        exclusiveMinimum=0,
        exclusiveMaximum=1,
        idle_with={"schedule": ["cosine", "one_cycle"]},
    )
    min_lr: float = hyperparameter(
        0.0,
        "learning rate below which no plateau lowers it, on all replicas together",
        minimum=0,
        maximum=1,
        idle_with={"schedule": ["cosine", "one_cycle"]},
    )
