"""Faults of a dataset or a training, and who refuses each before any paid job begins.

Each case is an input that the export or the trainer would refuse: of a file, of a manifest's lines,
of a table's columns, or of a table's rows, with a part of the earlier refusal.
"""

MODEL = "def build(dataset, hyperparameters): ...\n"

# What is replaced in a good file (spec/files.py), and by what.
FILES = {
    "small for the backbone": (
        "GOOD", "model: dense", "model: backbone\nhyperparameters: {backbone: Xception}",
        "backbone Xception takes 71 x 71",
    ),
    "small for the blocks": (
        "CONVOLUTIONAL", "search:", "search:\n    blocks: {from: 1, to: 4}",
        "blocks 4 takes 16 x 16",
    ),
    "max pooling compiled": (
        "CONVOLUTIONAL", "train:", "hyperparameters: {jit_compile: true}\ntrain:", "max pooling",
    ),
    "normalization compiled": (
        "BACKBONE", "model: backbone", "model: backbone\nhyperparameters: {jit_compile: true}",
        "its statistics over all replicas",
    ),
    "servers and compiled": (
        "GOOD", "train:",
        "hyperparameters: {jit_compile: true}\ntrain:\n  machines: {parameter_servers: {}}",
        "XLA cannot compile",
    ),
    "servers and several GPUs": (
        "GOOD", "  top: 2",
        "  machines: {gpu: NVIDIA_TESLA_T4, gpus: 2, parameter_servers: {}}", "on one GPU",
    ),
    "reduction without workers": (
        "GOOD", "  top: 2",
        "  machines: {gpu: NVIDIA_TESLA_T4, reduction_servers: {count: 2}}", "raise `workers`",
    ),
    "reduction without GPUs": (
        "GOOD", "  top: 2", "  machines: {workers: 2, reduction_servers: {count: 2}}", "of GPUs",
    ),
    "weights of no file": (
        "BACKBONE", "model: backbone",
        "model: backbone\nhyperparameters: {weights: here.h5}", "expected none, imagenet",
    ),
    "model of rows on images": ("GOOD", "model: dense", "model: recurrent", "not for a source of"),
    "no effect": (
        "GOOD", "train:", "hyperparameters: {embedding: 4}\ntrain:", "has no effect",
    ),
    "columns and mix": (
        "PICTURED", "features: [photo]", "features: [photo, age]", "columns beside them cannot be",
    ),
    "images and mix": (
        "PICTURED", "[photo]\n  image_columns: {photo: {size: 8}",
        "[photo, scan]\n  image_columns: {scan: {size: 8}, photo: {size: 8}", "mixes one image",
    ),
    "loss of masks": (
        "GOOD", "train:", "hyperparameters: {loss: dice}\ntrain:", "is only for the task segm",
    ),
    "columns and masks": (
        "MASKED", "[photo]", "[photo, age]", "predicts a mask from one image alone",
    ),
    "blocks of masks": (
        "MASKED", "{blocks: 3}", "{blocks: 5}", "blocks 5",
    ),
    "patch of masks": (
        "MASKED", "{blocks: 3}", "{blocks: 3, patch: 12}", "use a multiple of 8",
    ),
    "weights and mix": ("PICTURED", "label: y", "label: y\n  weight: w", "has no weight"),
    "unknown hyperparameter": ("GOOD", "layers:", "layer:", "has no hyperparameter"),
    "both sources": ("GOOD", "size: 8", "size: 8\n  bigquery: d.t", "under `image_columns`"),
    "own file that imports": ("OWN", "", "import torch\n", "imports torch"),
    "own fit on workers": (
        "OWN", MODEL,
        "def fit(data, hyperparameters, report): ...\ndef load(folder): ...\n",
        "which runs in one process",
    ),
    "own fit with servers": (
        "OWN", MODEL,
        "def fit(data, hyperparameters, report): ...\ndef load(folder): ...\n",
        "knows of no servers",
    ),
    "own file without build": ("OWN", "def build", "def built", "there is no function"),
    "own file too long": ("OWN", "", "#" * (1 << 20), "up to 1 MiB"),
    "own file missing": ("GOOD", "model: dense", "model: mine.py", "cannot be read"),
    "own loss and class weights": (
        "OWN", "def build",
        "def loss(labels, outputs, hyperparameters): ...\n\ndef build",
        "has losses of its own",
    ),
}  # fmt: skip


def lines(count=300, classes=3, use=("TRAIN", "TRAIN", "TRAIN", "VALIDATION", "TEST")):
    """A manifest that names the splits: `count` images, of each class some in each split."""
    return [f"{use[n // classes % len(use)]},gs://bkt/{n}.png,c{n % classes}" for n in range(count)]


def last(text):
    """Return the lines with something after each."""
    return [f"{line}{text}" for line in lines()]


# Lines of a manifest, changes of the file, and a part of plan's or the check stage's refusal.
MANIFESTS = {
    "a header": (["image,label", *lines()], {}, "name no image: 'image,label'"),
    "no image": (["cat,dog,b.png", *lines()], {}, "name no image"),
    "JSON Lines": (['{"image": "gs://bkt/1.png"}'], {}, "name no image"),
    "nothing": ([], {}, "is empty"),
    "not UTF-8": ([*lines(), "TEST,gs://bkt/x.png,\udce4"], {}, "utf-8"),
    "no CSV": (last(',"'), {}, "300: a quotation mark is not closed"),
    "unknown ML_USE": (
        [line.replace("TRAIN", "HOLDOUT") for line in lines()], {}, "an ML_USE that is none of",
    ),
    "ML_USE on some": (["gs://bkt/x.png,c0", *lines()], {}, "name a split (ML_USE)"),
    "ML_USE and groups": (last(",g1"), {("source", "split"): {"by": "g"}}, "decides them too"),
    "no groups": (
        [line.partition(",")[2] for line in lines()], {("source", "split"): {"by": "g"}},
        "0 groups (g) after the labels",
    ),
    "no labels": (["TEST,gs://bkt/1.png", "TRAIN,gs://bkt/2.png"], {}, "no line has a label"),
    "too many rejected": ([*lines(), *lines()], {}, "300: the image stands on another line, too"),
    "contradictions": (
        [*lines(), *(line[:-1] + "9" for line in lines())], {},
        "600: contradictory labels for one image",
    ),
    "one class": (lines(classes=1), {}, "is constant"),
    "more than two classes": (
        lines(), {("task",): "binary_classification"}, "has 3 classes ('c0', 'c1', 'c2')",
    ),
    "too many labels": (
        lines(600, 70), {("task",): "multilabel_classification"}, "has 70 classes",
    ),
    "numbers that are none": (
        lines(), {("task",): "regression", ("deploy",): None, ("tune", "maximize"): None,
                  ("tune", "minimize"): "rmse"}, "300: the label is no number",
    ),
    "one number in train": (
        [line.rpartition(",")[0] + (",1" if line[:2] == "TR" else ",2") for line in lines()],
        {("task",): "regression", ("deploy",): None, ("tune", "maximize"): None,
         ("tune", "minimize"): "rmse"}, "is 1 in every row of the train split",
    ),
    "an empty split": (lines(use=("TRAIN", "TEST")), {}, "the validation split is empty"),
    "a class without train": (
        [*lines(), "TEST,gs://bkt/x.png,rare"], {}, "no example of 'rare' is in the train split",
    ),
    "shards beyond train": (lines(30), {("source", "shards"): 20}, "20 files cannot be filled"),
    "a batch beyond train": (lines(100), {}, "batch_size: up to 32, in the section `train`"),
    "a searched batch": (
        lines(1000), {("tune", "search", "batch_size"): {"from": 8, "to": 2048}},
        "batch_size: up to 2048, in the section `tune`",
    ),
    "accumulation": (
        lines(400), {("hyperparameters",): {"accumulation": 8}}, "times accumulation 8",
    ),
    "one class in validation": (
        [line if line[0] != "V" else line[:-1] + "0" for line in lines()],
        {("tune", "maximize"): "auc"}, "auc compares two classes",
    ),
    "a positive class of no example": (
        lines(classes=2), {("task",): "binary_classification", ("positive",): "cat"},
        "of the class 'cat'",
    ),
    "weights of no class": (
        lines(), {("hyperparameters",): {"class_weights": '{"cat": 2}'}}, "of the class 'cat'",
    ),
}  # fmt: skip

REGRESSION = {
    ("task",): "regression",
    ("baselines",): None,
    ("deploy",): None,
    ("tune", "maximize"): None,
    ("tune", "minimize"): "rmse",
}


def times(horizon):
    """The event `malignant` at the time `days`, in place of a class."""
    label = {"time": "days", "event": "malignant", "horizons": [horizon]}
    changes = {("task",): "time_to_event", ("tune", "maximize"): "concordance"}
    return {**changes, ("source", "label"): label, ("baselines",): None, ("deploy",): None}


TIMES = times(100)
SEVERAL = {("task",): "multilabel_classification", ("baselines",): None, ("deploy",): None}

# Columns of 300 rows n, in GoogleSQL, changes of the file, and a part of plan's refusal.
TABLES = {
    "no sequence": ({}, {("model",): "recurrent"}, "no feature is an ARRAY column"),
    "sequences compiled": (
        {"trace": "[n, 1.5]"}, {("hyperparameters",): {"jit_compile": True}}, "XLA compiles for",
    ),
    "too many pairs": (
        {f"c{n}": "'a'" for n in range(46)}, {("model",): "wide_and_deep"}, "make 1,035 pairs",
    ),
    "label of no class": ({"malignant": "n / 2"}, {}, "a class is text"),
    "label of no number": ({}, REGRESSION, "what a regression learns is a number"),
    "label of no set": ({}, SEVERAL, "several classes are one text"),
    "no features": ({"x": None}, {}, "no column left to be a feature"),
    "kind of no model": ({"x": "STRUCT(n AS a)"}, {}, "is STRUCT, which is none of"),
}  # fmt: skip

# The same, and a part of the check stage's refusal.
ROWS = {
    "no rows": ({"rows": 0}, {}, "there are none"),
    "key missing": ({"sample_id": "IF(n = 7, NULL, CAST(n AS STRING))"}, {}, "NULL or empty in 1"),
    "key empty": ({"sample_id": "IF(n = 7, '', CAST(n AS STRING))"}, {}, "NULL or empty in 1 row"),
    "key repeated": ({"sample_id": "CAST(MOD(n, 299) AS STRING)"}, {}, "is not unique"),
    "label missing": ({"malignant": "IF(n = 7, NULL, n > 9)"}, {}, "NULL or empty in 1 row"),
    "label empty": ({"malignant": "IF(n < 9, '', IF(n < 99, 'a', 'b'))"}, {}, "or empty in 8"),
    "set missing": ({"malignant": "IF(n < 9, NULL, 'a|b')"}, SEVERAL, "is NULL in 8 rows"),
    "sets of one class": ({"malignant": "IF(n < 99, '', 'a')"}, SEVERAL, "a multi-label task has"),
    "sets alike": (
        {"malignant": "IF(MOD(ABS(FARM_FINGERPRINT(CAST(n AS STRING))), 100) BETWEEN 80 AND 89, "
                      "'a|b', IF(MOD(n, 2) = 0, 'a', 'b'))"},
        SEVERAL, "no class that only some",
    ),
    "label not finite": ({"malignant": "IF(n = 7, 3.5e38, n)"}, REGRESSION, "infinite as float32"),
    "label NaN": (
        {"malignant": "IF(n = 7, CAST('nan' AS FLOAT64), n)"}, REGRESSION, "NaN or infinite as",
    ),
    "label constant in train": (
        {"malignant": "IF(MOD(ABS(FARM_FINGERPRINT(CAST(n AS STRING))), 100) < 80, 1.5, n)"},
        REGRESSION, "is 1.5 in every row of the train split",
    ),
    "one class": ({"malignant": "TRUE"}, {}, "is constant"),
    "three classes": ({"malignant": "MOD(n, 3)"}, {}, "has 3 classes"),
    "too many classes": (
        {"malignant": "CAST(n AS STRING)", "rows": 1200},
        {("task",): "multiclass_classification"}, "more than 1,000 classes",
    ),
    "classes beyond BigQuery ML": (
        {"malignant": "CAST(MOD(n, 51) AS STRING)", "rows": 3000},
        {("task",): "multiclass_classification", ("tune", "maximize"): "accuracy"},
        "BigQuery ML's models take up to 50 classes, and the label has 51",
    ),
    "classes beyond AutoML": (
        {"malignant": "CAST(MOD(n, 501) AS STRING)", "rows": 9000},
        {("task",): "multiclass_classification", ("baselines",): {"automl": {"node_hours": 1}},
         ("tune", "maximize"): "accuracy"},
        "AutoML learns up to 500 classes from a table, and the label has 501",
    ),
    "a class without train": (
        {"malignant": "IF(n = 289, 'rare', CAST(MOD(n, 2) AS STRING))"},
        {("task",): "multiclass_classification"}, "no example of 'rare' is in the train split",
    ),
    "an empty split": (
        {"malignant": "MOD(n, 2) = 0", "fold": "'train'"},
        {("source", "split"): {"column": "fold"}}, "the test split is empty",
    ),
    "a split of no name": (
        {"fold": "CASE MOD(n, 4) WHEN 0 THEN 'test' WHEN 1 THEN 'validation' WHEN 2 THEN 'tr' "
                 "ELSE 'train' END"},
        {("source", "split"): {"column": "fold"}}, "expected one of 'train'",
    ),
    "a group missing": (
        {"ward": "IF(n = 7, NULL, MOD(n, 60))"}, {("source", "split"): {"by": "ward"}},
        "is NULL in 1 row",
    ),
    "number infinite": ({"x": "IF(n = 9, CAST('inf' AS FLOAT64), 1)"}, {}, "'x' is infinite in 1"),
    "number too large": ({"x": "IF(n = 9, 3.5e38, 1)"}, {}, "or too large for float32"),
    "element too large": ({"trace": "[IF(n = 9, -3.5e38, 1)]"}, {}, "'trace' is infinite in 1 row"),
    "feature missing": ({"x": "CAST(NULL AS FLOAT64)"}, {}, "is NULL in every row"),
    "sequence of NaN": ({"trace": "[CAST('nan' AS FLOAT64)]"}, {}, "NULL in every row of the tra"),
    "weight missing": ({"w": "IF(n < 3, NULL, 1)"}, {("source", "weight"): "w"}, "NULL in 2 rows"),
    "weight NaN": (
        {"w": "IF(n < 3, CAST('nan' AS FLOAT64), 1)"}, {("source", "weight"): "w"}, "NaN in 2 rows",
    ),
    "weight too large": (
        {"w": "IF(n < 3, 3.5e38, 1)"}, {("source", "weight"): "w"}, "infinite in 2 rows",
    ),
    "all censored": ({"malignant": "0", "days": "n"}, TIMES, "all are censored"),
    "a horizon beyond the times": (
        {"days": "n"}, times(400), "beyond the longest time",
    ),
    "time negative": ({"days": "n - 3"}, TIMES, "negative in 2 rows"),
    "event of two": (
        {"malignant": "IF(n > 298, 2, MOD(n, 2))", "days": "n"}, TIMES, "neither 0 nor 1 in 2 rows",
    ),
    "no event in validation": (
        {"malignant": "MOD(n, 2) = 0 AND MOD(ABS(FARM_FINGERPRINT(CAST(n AS STRING))), 100) "
                      "NOT BETWEEN 80 AND 89", "days": "n"},
        TIMES, "happened in no row of the validation split",
    ),
    "weight negative": ({"w": "n - 3"}, {("source", "weight"): "w"}, "negative in 2 rows"),
    "weight of nothing": ({"w": "1e-46"}, {("source", "weight"): "w"}, "is 0 in all"),
    "shards beyond train": ({}, {("source", "shards"): 290}, "290 files cannot be filled"),
    "a batch beyond train": (
        {}, {("hyperparameters",): {"batch_size": 256}}, "batch_size: up to 256, in the section",
    ),
    "steps beyond the last": (
        {}, {("train", "profile"): [10, 100_000]}, "train.profile: step 100000 is beyond the",
    ),
    "one class in validation": (
        {"fold": "CASE WHEN n < 40 THEN 'test' WHEN n < 99 THEN 'validation' ELSE 'train' END",
         "malignant": "n < 40 OR MOD(n, 2) = 0 AND n > 98"},
        {("source", "split"): {"column": "fold"}}, "auc compares two classes",
    ),
    "a threshold of one class": (
        {"fold": "CASE WHEN n < 40 THEN 'test' WHEN n < 99 THEN 'validation' ELSE 'train' END",
         "malignant": "n < 40 OR MOD(n, 2) = 0 AND n > 98"},
        {("source", "split"): {"column": "fold"}, ("tune", "maximize"): "f1",
         ("decision",): {"maximize": "f1"}}, "decision: a threshold is chosen among at least 10",
    ),
    "too few groups for sets": (
        {"ward": "MOD(n, 60)"}, {("source", "split"): {"by": "ward"}, ("coverage",): 0.95},
        "coverage: 0.95 needs at least 19 groups",
    ),
    "too few to calibrate on": (
        {}, {("calibrate",): "isotonic"}, "calibrate: isotonic needs 200 examples",
    ),
    "long sequences": (
        {"trace": "GENERATE_ARRAY(1, 2049)"}, {("model",): "transformer"}, "of up to 2,048",
    ),
    "a positive class of no example": (
        {}, {("task",): "binary_classification", ("positive",): "cat"}, "of the class 'cat'",
    ),
    "weights of no class": (
        {}, {("hyperparameters",): {"class_weights": '{"cat": 2}'}}, "of the class 'cat'",
    ),
}  # fmt: skip
