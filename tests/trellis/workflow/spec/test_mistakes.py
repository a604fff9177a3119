"""Every way to write an experiment wrongly, and what the file's author is told."""

import pytest

from tests.trellis.workflow.spec.files import GOOD, TABLE, UNTUNED, assert_named
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import load

MISTAKES = [
    # (what is replaced, by what, line, field, part of the message)
    ("owner: lab", "ownr: lab", 3, "ownr", "did you mean 'owner'?"),
    ("owner: lab\n", "", 1, "owner", "missing; expected text, not empty"),
    ("owner: lab", "owner: 5", 3, "owner", "up to 250 characters; it is text in quotes"),
    ("owner: lab", "owner: true", 3, "owner", "got true; expected text"),
    ("owner: lab", "owner:", 3, "owner", "got nothing; expected text"),
    ("owner: lab", "owner: lab\nschedule: weekly", 4, "schedule", "@weekly"),
    ("owner: lab", "owner: lab\nschedule: 0 25 * * *", 4, "schedule", "cron"),
    ("owner: lab", "owner: lab\nschedule: new champion", 4, "schedule", "new champion of E"),
    ("owner: lab", "owner: lab\nschedule: new data\nuntil: 2024-01-04", 5, "until", "by time"),
    ("owner: lab", "owner: lab\nname: x", 4, "name", "no key: the file's name is"),
    ("owner: lab", "owner: lab\ngeneration: 0", 4, "generation", "at least 1"),
    ("6 USD", "6 EUR", 4, "budget", "as in '6 USD'"),
    ("6 USD", "1e3 USD", 4, "budget", "as in '6 USD'"),
    ("6 USD", "1,000 USD", 4, "budget", "as in '6 USD'"),
    ("6 USD", "9999999999 USD", 4, "budget", "as in '6 USD'"),
    ("epochs: 10", "epochs: 010", 20, "train.epochs", "versions 1.1 and 1.2 of YAML read 010"),
    ("epochs: 10", "epochs: 1:30", 20, "train.epochs", "versions 1.1 and 1.2 of YAML read 1:30"),
    ("epochs: 10", "epochs: 10\n  timeout: 999999999 days", 21, "train.timeout", "up to 366 days"),
    ("owner: lab", "owner: lab\nschedule: '@daily'\nuntil: 2024-02-30", 5, "until", "a day, as in"),
    ("owner: lab", "owner: lab\nschedule: '@daily'\nuntil: 2024-W05", 5, "until", "a day, as in"),
    ("owner: lab", f"owner: {'x' * 300}", 3, "owner", "up to 250 characters"),
    ("6 USD", "6", 4, "budget", "got 6; expected an amount above 0 in US dollars"),
    ("6 USD", "0 USD", 4, "budget", "above 0"),
    ("size: 8", "size: 0", 7, "source.size", "got 0; expected one side of a square"),
    ("size: 8", "size: [8]", 7, "source.size", "[height, width]"),
    ("size: 8", "size: 8\n  channels: 2", 8, "source.channels", "one of 1, 3"),
    ("size: 8", "size: 8\n  encoding: gif", 8, "source.encoding", "one of png, jpeg"),
    ("size: 8", "size: 8\n  max_rejected: 5", 8, "source.max_rejected", "from 0 to 1"),
    ("size: 8", "size: 8\n  shards: 0", 8, "source.shards", "from 1 to 10000"),
    ("size: 8", "size: 8\n  split: {train: 90}", 8, "source.split", "add up to 110"),
    ("size: 8", "size: 8\n  split: {stratify: x}", 8, "source.split.stratify", "only its `label`"),
    ("size: 8", "size: 8\n  split: {column: fold}", 8, "source.split.column", "by its ML_USE"),
    ("size: 8", "size: 8\n  scale: max", 8, "source.scale", "got 'max'; expected full, percent"),
    ("size: 8", "size: 8\n  scale: {range: [9, 3]}", 8, "source.scale", "expected full, percent"),
    ("size: 8", "size: 8\n  scale: {percentiles: [1, 200]}", 8, "source.scale", "expected full"),
    ("size: 8", "size: 8\n  encoding: jpeg\n  scale: full", 5, "source", "jpeg` keeps 8 bits"),
    ("images: manifest.csv", "images: s3://b/m.csv", 6, "source.images", "or gs://BUCKET/OBJECT"),
    ("images: manifest.csv", "images: gs:/b/m.csv", 6, "source.images", "or gs://BUCKET/OBJECT"),
    ("images: manifest.csv", "images: gs://b", 6, "source.images", "or gs://BUCKET/OBJECT"),
    ("images: manifest.csv", "images: /home/m.csv", 6, "source.images", "or gs://BUCKET/OBJECT"),
    ("images: manifest.csv", 'images: "m.csv "', 6, "source.images", "or gs://BUCKET/OBJECT"),
    ("images: manifest.csv", "", 5, "source", "nothing to read; expected one of `images:"),
    ("images: manifest.csv", "imags: manifest.csv", 6, "source.imags", "did you mean 'images'?"),
    ("source:\n  images: manifest.csv\n  size: 8", "source: digits", 5, "source",
     "got 'digits'; expected one of `images: MANIFEST`"),
    ("images: manifest.csv", "bigquery: d.t", 7, "source.size", "belongs to images"),
    ("size: 8", "size: 8\n  bigquery: d.t", 5, "source", "got images and bigquery; expected"),
    ("size: 8", "key: id", 7, "source.key", "belongs to tables, queries and files, not"),
    ("size: 8", "", 5, "source.size", "missing beside `images`; expected one side"),
    ("model: dense", "model: desne", 8, "model", "did you mean 'dense'?"),
    ("task: multiclass_", "task: multiclas_", 9, "task", "mean 'multiclass_classification'?"),
    ("maximize: acc", "minimize: acc", 11, "tune.minimize", "write `maximize: accuracy`"),
    ("maximize: accuracy", "maximize: loss", 11, "tune.maximize", "write `minimize: loss`"),
    ("maximize: accuracy", "maximize: acuracy", 11, "tune.maximize", "mean 'accuracy'?"),
    ("maximize: accuracy", "maximise: accuracy", 11, "tune.maximise", "did you mean 'maximize'?"),
    ("maximize: accuracy", "maximize: accuracy\n  minimize: loss", 10, "tune",
     "got maximize and minimize; expected one of"),
    ("maximize: accuracy\n  ", "", 10, "tune", "expected one of `maximize: METRIC`"),
    ("trials: 4", "trials: four", 12, "tune.trials", "got 'four'; expected a whole number"),
    ("trials: 4", "trials: 0", 12, "tune.trials", "from 1 to 1000, in trials"),
    ("trials: 4", "trials: 2.5", 12, "tune.trials", "got 2.5; expected a whole number"),
    ("trials: 4", "trials: '4'", 12, "tune.trials", "in trials; leave the quotes out"),
    ("size: 8", "size: 8\n  max_rejected: 0,05", 8, "source.max_rejected", "; write 0.05"),
    ("size: 8", "size: 8\n  max_rejected: 5 %", 8, "source.max_rejected", "; write 0.05"),
    ("size: 8", "size: 8\n  max_rejected: five", 8, "source.max_rejected", "from 0 to 1"),
    ("trials: 4", "trials: true", 12, "tune.trials", "got true; expected a whole number"),
    ("trials: 4", "trails: 4", 12, "tune.trails", "did you mean 'trials'?"),
    ("epochs: 2", "epochs: 2\n  parallel: 5", 14, "tune.parallel", "got 5 of only 4 trials"),
    ("epochs: 2", "epochs: 2\n  timeout: 30 min", 14, "tune.timeout", "as in '30 minutes'"),
    ("epochs: 2", "epochs: 2\n  stop_early: 1", 14, "tune.stop_early", "true or false"),
    ("epochs: 2", "epochs: 2\n  algorithm: grid", 16, "tune.search.learning_rate", "a grid needs"),
    ("{from: 1e-4, to: 1e-1, scale: log}", "{from: 1e-1, to: 1e-4}", 15,
     "tune.search.learning_rate.from", "got 0.1, which is not below `to: 0.0001`"),
    ("{from: 1e-4,", "{from: 0,", 15, "tune.search.learning_rate.from", "above 0"),
    ("to: 1e-1", "to: 2", 15, "tune.search.learning_rate.to", "got 2; expected a number above 0"),
    ("scale: log}", "scale: lin}", 15, "tune.search.learning_rate.scale", "linear, log"),
    (", to: 1e-1, scale: log}", "}", 15, "tune.search.learning_rate", "expected {from: A, to: B}"),
    ("learning_rate:", "learning_rat:", 15, "tune.search.learning_rat",
     "the model 'dense' has no hyperparameter 'learning_rat'; did you mean 'learning_rate'?"),
    ("layers: {from: 1, to: 4}", "layers: {from: 1, to: 4.5}", 16, "tune.search.layers.to",
     "got 4.5; expected a whole number"),
    ("layers: {from: 1, to: 4}", "layers: {from: 1, to: 4, choose: [2]}", 16,
     "tune.search.layers", "not both"),
    ("{choose: [adam, sgd]}", "{choose: [adam, sgd], scale: log}", 17,
     "tune.search.optimizer.scale", "belongs to ranges, not beside `choose`"),
    ("{choose: [adam, sgd]}", "[adam, sgd]", 17, "tune.search.optimizer",
     "got ['adam', 'sgd']; expected {from: A, to: B} or {choose: [A, B]}"),
    ("layers: {from: 1", "filters: {from: 1", 16, "tune.search.filters", "'dense' has no"),
    ("{choose: [adam, sgd]}", "{from: adam, to: sgd}", 17, "tune.search.optimizer.from",
     "got 'adam'; expected a number"),
    ("{choose: [adam, sgd]}", "{from: 1, to: 2}", 17, "tune.search.optimizer", "use {choose"),
    ("[adam, sgd]", "[adam, adamm]", 17, "tune.search.optimizer.choose.1", "one of adam, sgd, rms"),
    ("optimizer: {choose: [adam, sgd]}", "batch_size: {choose: [8, 8]}", 17,
     "tune.search.batch_size.choose", "at least two different"),
    ("[adam, sgd]", "[adam]", 17, "tune.search.optimizer.choose", "at least two different"),
    ("model: dense", "model: convolutional", 16, "tune.search.layers", "has no hyperparameter"),
    ("top: 2", "top: 5", 19, "train.top", "the best 5 of 4 trials"),
    ("train:", "calibrate: temperature\ntrain:\n  ensemble: true", 20, "train.ensemble",
     "leave out one of the two"),
    ("  top: 2", "  ensemble: true", 19, "train.ensemble", "there is one: raise `top` or `seeds`"),
    ("epochs: 10", "epochs: -1", 20, "train.epochs", "from 1 to 10000"),
    ("epochs: 10", "epochs: 10\n  machines: {type: n1-standard-5}", 21, "train.machines.type",
     "did you mean 'n1-standard-"),
    ("epochs: 10", "epochs: 10\n  machines: {gpu: NVIDIA_T4}", 21, "train.machines.gpu",
     "did you mean 'NVIDIA_TESLA_T4'?"),
    ("epochs: 10", "epochs: 10\n  machines: {gpus: 2}", 21, "train.machines.gpus", "which type?"),
    ("epochs: 10", "epochs: 10\n  machines: {gpu: NVIDIA_TESLA_T4, type: e2-standard-4}", 21,
     "train.machines", "goes with n1 machines"),
    ("train:", "baselines: {bqml: [logistic_reg]}\ntrain:", 18, "baselines.bqml",
     "BigQuery ML learns from columns, and the examples are images alone; what fits"),
    ("train:", "baselines: {automl: {node_hours: 1}}\ntrain:", 18, "baselines.automl.node_hours",
     "got 1; AutoML on images takes 8 to 800"),
    ("train:", "baselines: {automl: {hours: 9}}\ntrain:", 18, "baselines.automl.hours",
     "unknown key; did you mean 'node_hours'?"),
    ("model: dense", "model: recurrent", 8, "model", "not for a source of images for multiclass_"),
    ("owner: lab", "owner: lab\nuntil: 2024-01-04", 4, "until", "this experiment has none"),
    ("train:", "hyperparameters: {layers: 2}\ntrain:", 18, "hyperparameters.layers", "fixed here"),
    ("  top: 2", "  machines: {spot: true, persistent: a}", 19, "train.machines.persistent",
     "leave `spot` out"),
    ("  top: 2", "  machines: {spot: true, reservation: us-central1-a/h100s}", 19,
     "train.machines.reservation", "no spot machines: leave `spot` out"),
    ("  top: 2", "  machines: {persistent: a, reservation: us-central1-a/h100s}", 19,
     "train.machines.reservation", "leave `persistent` out"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex, reservation: us-central1-a/h100s}", 19,
     "train.machines.reservation", "leave `queue` out"),
    ("  top: 2", "  machines: {reservation: h100s}", 19, "train.machines.reservation", "matches ^"),
    ("  top: 2", "  machines: {queue: flex, gpu: NVIDIA_L4, type: g2-standard-8}", 19,
     "train.machines.queue", "for how long? Add it: `wait: 1 day`"),
    ("  top: 2", "  machines: {wait: 0 hours}", 19, "train.machines.wait", "as in '30 minutes'"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex, spot: true}", 19,
     "train.machines.queue", "leave `spot` out"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex, persistent: a}", 19,
     "train.machines.queue", "the machines of `persistent` are there already"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex}", 19,
     "train.machines.queue", "is for L4, A100, H100, H200 and B200 GPUs, and the section names"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex, gpu: NVIDIA_TESLA_V100}", 19,
     "train.machines.queue", "B200 GPUs, not NVIDIA_TESLA_V100: leave it out"),
    ("  top: 2", "  machines: {wait: 1 day, queue: flex, gpu: NVIDIA_L4, type: g2-standard-8,"
     " parameter_servers: {}}", 19, "train.machines.queue", "the same machines in all pools"),
    ("  top: 2", "  timeout: 8 days\n  machines: {wait: 1 day, queue: flex, gpu: NVIDIA_L4,"
     " type: g2-standard-8}", 19, "train.timeout", "may take 7 days at most"),
    ("  top: 2", "  machines: {parameter_servers: {type: n1-standard-5}}", 19,
     "train.machines.parameter_servers.type", "did you mean 'n1-standard-"),
    ("  top: 2", "  machines: {gpu: NVIDIA_TESLA_T4, gpus: 2, parameter_servers: {}}", 19,
     "train.machines.gpus", "a worker computes on one GPU"),
    ("train:", "hyperparameters: {jit_compile: true}\ntrain:\n  machines: {parameter_servers: {}}",
     18, "hyperparameters.jit_compile", "XLA cannot compile"),
    ("  top: 2", "  machines: {gpu: NVIDIA_TESLA_T4, workers: 2, reduction_servers: {}}", 19,
     "train.machines.reduction_servers.count", "missing; expected a whole number from 1 to 200"),
    ("  top: 2", "  machines: {gpu: NVIDIA_TESLA_T4, reduction_servers: {count: 2}}", 19,
     "train.machines.reduction_servers", "of several machines: raise `workers`"),
    ("  top: 2", "  machines: {workers: 1, reduction_servers: {count: 2}}", 19,
     "train.machines.reduction_servers", "raise `workers`"),
    ("  top: 2", "  machines: {gpu: NVIDIA_TESLA_T4, workers: 2, reduction_servers: {count: 1},"
     " parameter_servers: {}}", 19,
     "train.machines.reduction_servers", "not of `parameter_servers`"),
    ("  top: 2", "  machines: {gpu: NVIDIA_TESLA_T4, workers: 2,"
     " reduction_servers: {count: 1, type: n1-highcpu-61}}", 19,
     "train.machines.reduction_servers.type", "did you mean 'n1-highcpu-96'?"),
    ("  top: 2", "  machines: {persistent: A}", 19, "train.machines.persistent", "matches ^[a-z]"),
    ("train:", "other_models: {dens: {}}\ntrain:", 18, "other_models.dens", "mean 'dense'?"),
    ("train:", "other_models: {dense: {}}\ntrain:", 18, "other_models.dense", "`model` already"),
    ("train:", "other_models: {mine.py: {}}\ntrain:", 18, "other_models.mine.py", "cannot be read"),
    ("train:", "other_models: {recurrent: {}}\ntrain:", 18, "other_models.recurrent",
     "not for a source of images"),
    ("train:", "other_models: {residual: {unit: 9}}\ntrain:", 18, "other_models.residual.unit",
     "unknown key"),
    ("train:", "other_models: {residual: {hyperparameters: {unit: 9}}}\ntrain:", 18,
     "other_models.residual.hyperparameters.unit", "mean 'units'?"),
    ("train:", "other_models: {residual: {search: {units: {from: 9, to: 4}}}}\ntrain:", 18,
     "other_models.residual.search.units.from", "not below `to: 4`"),
    ("train:", "hyperparameters: {units: 0}\ntrain:", 18, "hyperparameters.units", "got 0;"),
    ("train:", "hyperparameters: {embedding: 4}\ntrain:", 18, "hyperparameters.embedding",
     "has no effect for multiclass_classification on a source of images, only for tables: leave it "
     "out"),
    ("layers: {from: 1, to: 4}", "embedding: {from: 1, to: 4}", 16, "tune.search.embedding",
     "on a source of images, only for tables"),
    ("train:", "hyperparameters: {unit: 9}\ntrain:", 18, "hyperparameters.unit", "mean 'units'?"),
    ("train:", "hyperparameters: {class_weights: {a: -1}}\ntrain:", 18,
     "hyperparameters.class_weights", "or a number above 0 and at most 1000000 for each of some"),
    ("train:", "hyperparameters: {class_weights: {a: much}}\ntrain:", 18,
     "hyperparameters.class_weights", "numbers by class where classes have weights"),
]  # fmt: skip

MISTAKES_WITH_TABLES = [
    ("bigquery: research.cells", "bigquery: cells", 7, "source.bigquery", "got 'cells'; exp"),
    ("bigquery: research.cells", "bigquery: a.b.c.d", 7, "source.bigquery", "expected DATASET.TAB"),
    ("  key: sample_id\n", "", 6, "source.key", "missing beside `bigquery`; expected text, n"),
    ("  label: malignant\n", "", 6, "source.label", "missing beside `bigquery`"),
    ("label: malignant", "label: sample_id", 9, "source.label", "'sample_id' is the key already"),
    ("[radius,", "[7,", 10, "source.features.0", "got 7; expected text"),
    ("[radius,", "[radius, malignant,", 10, "source.features.1", "'malignant' is the label"),
    ("[radius,", "[radius, radius,", 10, "source.features.1", "'radius' is listed twice"),
    # BigQuery ignores case in names.
    ("[radius,", "[radius, Malignant,", 10, "source.features.1", "'Malignant' is the label"),
    ("[radius,", "[radius, RADIUS,", 10, "source.features.1", "'RADIUS' is listed twice"),
    ("label: malignant", "label: Sample_ID", 9, "source.label", "'Sample_ID' is the key already"),
    ("features: [radius, \"mean texture\", stage]", "features: []", 10, "source.features",
     "not empty"),
    ("categorical: [stage]", "categorical: [stages]", 11, "source.categorical.0",
     "'stages' is not one of the features; did you mean 'stage'?"),
    ("categorical: [stage]", "categorical: [stage]\n  text: [stage]", 12, "source.text.0",
     "'stage' is one of `categorical` too; a column is either"),
    ("partition: measured_on", "text: [note]", 12, "source.text.0",
     "'note' is not one of the features"),
    ("partition: measured_on", "vocabulary: 0", 12, "source.vocabulary", "from 1 to 1000000"),
    ("partition: measured_on", "encoding: png", 12, "source.encoding", "belongs to images"),
    ("partition: measured_on", "max_rejected: 0.5", 12, "source.max_rejected", "is for images"),
    ("partition: measured_on", "split: {by: sample_id}", 12, "source.split.by",
     "'sample_id' is the key, which decides where no rule is given"),
    ("partition: measured_on", "split: {by: Malignant}", 12, "source.split.by", "is the label"),
    ("partition: measured_on", "split: {by: Radius}", 10, "source.features.0",
     "'radius' decides the split (by), and is no feature"),
    ("partition: measured_on", "weight: Malignant", 12, "source.weight",
     "'malignant' is the column of `label` already"),
    ("partition: measured_on", "weight: Radius", 10, "source.features.0",
     "'radius' is the weight, and no feature"),
    ("partition: measured_on", "split: {by: p, test: 20}", 12, "source.split", "add up to 110"),
    ("partition: measured_on", "split: {by: [p]}", 12, "source.split.by", "expected text"),
    ("partition: measured_on", "split: {time: day, validation: 2024-03-01, test: 2024-02-01}", 12,
     "source.split", "validation 2024-03-01 is not before test 2024-02-01"),
    ("partition: measured_on", "split: {time: day, test: 2024-02-01}", 12,
     "source.split.validation", "missing beside `time`; expected a day"),
    ("partition: measured_on", "split: {column: fold, train: 70}", 12, "source.split.train",
     "belongs to splits by the key, splits by a group and stratified splits, not beside `col"),
    ("partition: measured_on", "split: {names: {train: [a]}}", 12, "source.split.names",
     "belongs to splits by a column of one's own, not to splits by the key"),
    ("partition: measured_on", "split: {column: fold, names: {train: [1], test: [1]}}", 12,
     "source.split.names", "'1' stands twice; a value is of one split"),
    ("partition: measured_on", "split: {column: stage}", 10, "source.features.2", "no feature"),
    ("partition: measured_on", "split: {by: p, time: t}", 12, "source.split", "got by and time"),
    ("partition: measured_on", "split: {stratify: sample_id}", 12, "source.split.stratify",
     "'sample_id' is the key"),
    ("partition: measured_on",
     "partition: day\n  split: {time: day, validation: 2024-01-01, test: 2024-02-01}", 13,
     "source.split.time", "'day' is the partition: a run's interval is of one split"),
    ("partition: measured_on", "split: {bye: p}", 12, "source.split.bye", "did you mean 'by'?"),
    ("partition: measured_on", "split: patient", 12, "source.split", "expected shares in perc"),
    ("model: dense", "model: convolutional", 13, "model", "not for a source of tables for binary_"),
    ("until: 2024-01-04", "until: tomorrow", 4, "until", "a day, as in 2024-01-31"),
    ("until: 2024-01-04", "until: 2024-01-04 12:00:00", 4, "until", "a day, as in 2024-01-31"),
    ("[logistic_reg,", "[linear_reg,", 24, "baselines.bqml.0",
     "linear_reg does not learn binary_classification; types that do: logistic_reg, boosted_t"),
    ("[logistic_reg,", "[logistic_regression,", 24, "baselines.bqml.0",
     "unknown type 'logistic_regression'; did you mean 'logistic_reg'?"),
    ("boosted_tree_classifier]", "logistic_reg]", 24, "baselines.bqml.1", "is listed twice"),
    ("  automl:", "  options: {linear_reg: {l2_reg: 1}}\n  automl:", 25,
     "baselines.options.linear_reg", "is no baseline of this file; "),
    ("  automl:", "  options: {logistic_reg: {l2reg: 1}}\n  automl:", 25,
     "baselines.options.logistic_reg.l2reg", "that a file may set; did you mean 'l2_reg'?"),
    ("  automl:", "  options: {logistic_reg: {l2_reg: -1}}\n  automl:", 25,
     "baselines.options.logistic_reg.l2_reg", "got -1; expected a number of at least 0"),
    ("  automl:", "  options: {logistic_reg: {model_type: KMEANS}}\n  automl:", 25,
     "baselines.options.logistic_reg.model_type", "no option of logistic_reg that a file may set"),
    ("  automl:", "  options: {boosted_tree_classifier: {subsample: 2}}\n  automl:", 25,
     "baselines.options.boosted_tree_classifier.subsample", "above 0 and at most 1"),
    ("  automl:", "  options: {logistic_reg: {learn_rate: 0.1}}\n  automl:", 25,
     "baselines.options.logistic_reg.learn_rate", "goes with `learn_rate_strategy: CONSTANT`"),
    ("node_hours: 1.5", "node_hours: 0.5", 25, "baselines.automl.node_hours", "from 1 to"),
    ("node_hours: 1.5", "node_hours: 100", 25, "baselines.automl.node_hours", "tables takes 1 t"),
    ("train:", "hyperparameters: {augment: true}\ntrain:", 21, "hyperparameters.augment",
     "has no effect for binary_classification on a source of tables, only for images"),
    ("train:", "calibrate: platt\ntrain:", 21, "calibrate", "one of temperature, isotonic"),
    ("train:", "decision: {cost: {missed: 10}}\ntrain:", 21, "decision.cost.false_alarm",
     "missing; expected a number"),
    ("train:", "decision: {cost: {missed: 0, false_alarm: 1}}\ntrain:", 21,
     "decision.cost.missed", "got 0; expected a number from 1e-06"),
    ("train:", "decision: {sensitivity: 95}\ntrain:", 21, "decision.sensitivity",
     "got 95; expected a number from 0.01 to 0.999"),
    ("train:", "decision: {maximize: auc}\ntrain:", 21, "decision.maximize",
     "one of accuracy, balanced_accuracy, f1"),
    ("train:", "decision: {sensitivity: 0.9, maximize: f1}\ntrain:", 21, "decision",
     "one of `cost"),
    ("train:", "hyperparameters: {decision_threshold: best}\ntrain:", 21,
     "hyperparameters.decision_threshold", "has no hyperparameter 'decision_threshold'"),
    ("task: binary_classification", "task: regression", 24, "baselines.bqml.0",
     "types that do: linear_reg, boosted_tree_regressor, dnn_regressor"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"), MISTAKES, ids=[f"{m[3]}-{m[1]}" for m in MISTAKES]
)
def test_a_mistake_is_named_with_line_and_field(write, old, new, line, field, message):
    assert_named(write, GOOD, old, new, line, field, message)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    MISTAKES_WITH_TABLES,
    ids=[f"{m[3]}-{m[1]}" for m in MISTAKES_WITH_TABLES],
)
def test_a_mistake_with_a_table_is_named_too(write, old, new, line, field, message):
    assert_named(write, TABLE, old, new, line, field, message)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("  maximize: balanced_accuracy\n", "", 10, "train",
         "without `tune`, expected a metric here: `maximize: accuracy`, say"),
        ("maximize: bal", "minimize: bal", 11, "train.minimize", "write `maximize: balanced_acc"),
        ("balanced_accuracy", "balanced_acuracy", 11, "train.maximize", "mean 'balanced_acc"),
        ("epochs: 10", "epochs: 10\n  minimize: loss", 13, "train.minimize", "one metric decides"),
        ("epochs: 10", "epochs: 10\n  top: 2", 13, "train.top", "there is one training"),
        ("0.01", "2", 9, "hyperparameters.learning_rate", "got 2; expected a number above 0"),
        ("units", "unit", 9, "hyperparameters.unit", "has no hyperparameter 'unit'; did you mean"),
        ("units: 64", "schedule: cosine, plateau_factor: 0.1", 9, "hyperparameters.plateau_factor",
         "has no effect with schedule cosine: leave it out, or choose another schedule"),
        ("units: 64", "schedule: one_cycle, warmup_epochs: 2", 9, "hyperparameters.warmup_epochs",
         "has no effect with schedule one_cycle: leave it out, or choose another schedule"),
        ("train:", "decision: {sensitivity: 0.9}\ntrain:", 10, "decision",
         "a threshold is between two classes, and the task is multiclass_classification"),
        ("train:", "abstain: 10\ntrain:", 10, "abstain", "got 10; expected a number from 0.001"),
        ("train:", "coverage: 90\ntrain:", 10, "coverage", "got 90; expected a number from 0.5"),
        ("units: 64", "focal_gamma: 1", 9, "hyperparameters.focal_gamma",
         "has no effect with loss cross_entropy: leave it out, or choose another loss"),
    ],
)  # fmt: skip
def test_a_mistake_without_a_search_is_named_too(write, old, new, line, field, message):
    assert_named(write, UNTUNED, old, new, line, field, message)


BACKBONE = {"model: dense": "model: backbone", "  size: 8": "  size: 64", "units: 64": "dropout: 0"}


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("dropout: 0", "weights: w.h5", 9, "hyperparameters.weights",
         "got w.h5; expected none, imagenet, or the gs:// address of a file or a folder"),
        ("size: 64", "size: [64, 31]", 6, "source.size",
         "got 64 x 31 pixels; backbone MobileNetV2 takes 32 x 32 or more"),
        ("dropout: 0", "unfrozen_layers: 2", 9, "hyperparameters.unfrozen_layers",
         "has no effect with weights none: leave it out, or choose another weights"),
        ("dropout: 0", "backbone: Xception", 6, "source.size", "Xception takes 71 x 71"),
        ("train:", "tune: {maximize: accuracy, trials: 2, epochs: 1, search: {backbone: {choose: "
         "[ResNet50, InceptionV3]}}}\ntrain:", 6, "source.size", "InceptionV3 takes 75 x 75"),
        ("train:", "tune: {maximize: accuracy, trials: 2, epochs: 1, search: {weights: {choose: "
         "[none, imagenet]}}}\ntrain:", 10, "tune.search.weights", "weights are fixed, in `hyperp"),
    ],
)  # fmt: skip
def test_a_mistake_with_a_backbone_is_named_too(write, old, new, line, field, message):
    good = UNTUNED
    for dense, backbone in BACKBONE.items():
        good = good.replace(dense, backbone)
    load(write(good))
    assert_named(write, good, old, new, line, field, message)


# Images beside columns.
PICTURES = (
    TABLE.replace("[radius, ", "[photo, radius, ")
    .replace("categorical: [stage]", "image_columns: {photo: {size: 64}}\n  categorical: [stage]")
    .replace("model: dense", "model: convolutional")
    .replace("  bqml: [logistic_reg, boosted_tree_classifier]\n  automl: {node_hours: 1.5}\n", "")
    .replace("baselines:\n", "")
    + "hyperparameters:\n  dropout: 0\n"
)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("dropout: 0", "mix: mixup", 25, "hyperparameters.mix", "the columns beside them cannot"),
        ("[photo, radius, \"mean texture\", stage]\n  image_columns: {photo: {size: 64}}\n"
         "  categorical: [stage]",
         "[photo, eye]\n  image_columns: {photo: {size: 64}, eye: {size: 9}}\n  keep: [stage]",
         25, "hyperparameters.mix", "mixes one image, and an example has 2"),
        ("model: convolutional", "model: backbone", 11,
         "source.image_columns.photo.size", "got 9 x 9 pixels; backbone MobileNetV2 takes 32 x"),
    ],
)  # fmt: skip
def test_a_mistake_with_images_beside_columns_is_named_too(write, old, new, line, field, message):
    good = PICTURES
    if "9 x 9" in message:
        good = good.replace("size: 64", "size: 9")
    if "an example has 2" in message:
        good = good.replace("dropout: 0", "mix: mixup")
    else:
        load(write(good))
    assert_named(write, good, old, new, line, field, message)


def test_beside_a_search_the_training_names_no_metric(write):
    both = ("  top: 2", "  top: 2\n  maximize: accuracy")
    assert_named(write, GOOD, *both, 20, "train.maximize", "`tune` names the metric: remove one")


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(write):
    text = GOOD.replace("owner: lab", "owner: 1").replace("trials: 4", "trials: 0")
    with pytest.raises(FileError) as raised:
        load(write(text.replace("top: 2", "tops: 2")))
    lines = str(raised.value).splitlines()
    assert lines[0].endswith("good.yaml: 3 problems")
    assert [line.split(",")[0].strip() for line in lines[1:]] == ["line 3", "line 12", "line 19"]


def test_what_only_some_of_the_searched_schedules_read_may_be_given(write):
    searched = GOOD.replace("optimizer: {choose: [adam, sgd]}", "schedule: {choose: %s}")
    given = searched.replace("train:", "hyperparameters: {plateau_patience: 2}\ntrain:")
    assert load(write(given % "[cosine, constant]")).hyperparameters == {"plateau_patience": 2}
    with pytest.raises(FileError, match="no effect with schedule cosine or one_cycle: leave"):
        load(write(given % "[cosine, one_cycle]"))
