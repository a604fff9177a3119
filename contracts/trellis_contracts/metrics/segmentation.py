"""Metrics of masks."""

from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import SEGMENTATION

METRICS = {
    "dice": Metric(
        "maximize",
        (SEGMENTATION,),
        "Dice coefficient of an image, 2 |P and T| / (|P| + |T|) over the pixels P that have a "
        "class in the prediction and T in the mask: averaged over the foreground classes that "
        "either of both has, then over the images",
        part="class",
    ),
    "iou": Metric(
        "maximize",
        (SEGMENTATION,),
        "intersection over union of an image, |P and T| / |P or T|, averaged as `dice` is",
        part="class",
    ),
    "pooled_dice": Metric(
        "maximize",
        (SEGMENTATION,),
        "Dice coefficient of all pixels of the split as one image, averaged over the foreground "
        "classes: large objects count more than in `dice`",
        part="class",
    ),
    "pooled_iou": Metric(
        "maximize",
        (SEGMENTATION,),
        "intersection over union of all pixels of the split as one image, averaged over the "
        "foreground classes",
        part="class",
    ),
    "mask_precision": Metric(
        "maximize",
        (SEGMENTATION,),
        "share of the pixels predicted as a class that have it, over all images, averaged over the "
        "foreground classes",
        part="class",
    ),
    "mask_recall": Metric(
        "maximize",
        (SEGMENTATION,),
        "share of the pixels of a class that are predicted as it, over all images, averaged over "
        "the foreground classes",
        part="class",
    ),
    "boundary_distance": Metric(
        "minimize",
        (SEGMENTATION,),
        "95th percentile of the distances, in pixels, between the boundaries of prediction and "
        "mask, in both directions: the mean over the foreground classes that both have, then over "
        "the images; only for the gate, as a class that is never predicted has none",
        gate_only=True,
        part="class",
    ),
}
