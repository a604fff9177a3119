"""The scientific core of `trainer.compare`: contenders, scores, uncertainty, leaderboard.

test_split    keys and labels that every contender must have predicted, from the TFRecords
run_folder    what a run left in its folder: plan, tuning trials, full trainings
baselines     the baselines in it, as contenders
served        the model that is served now, as one more
raw_predictions   what BigQuery ML and AutoML wrote, in the trainer's form
outcome       one contender's predictions, aligned with the test split
metric        what a metric is
classification   the metrics of classes, for the split as it is and for many resamples at once
regression    the outcome and the metrics of values
auc, ranks    the metric of ranking, and what it is made of
calibration   the metric of calibration, whose interval needs care
bootstrap     resamples of the test split, and intervals from them
proportions   intervals of shares of examples, for which the bootstrap is not good enough
studentized   intervals of mean errors, for the same reason
intervals     which interval fits which metric
scoreboard    the ranking, and the difference between any two contenders
selection     which training competes: the best on the validation split
promotion     whether it may be deployed
drift         how far a dataset has moved from an earlier one
notes         what a reader must know before believing it
leaderboard   leaderboard.json and the table in the terminal
provenance    versions and fingerprint of the code
challenger    challenger.json: what the deployment of a training has to know
explanation   what an endpoint can explain of it
raw_examples  examples of the test split as clients send them
scoring       predictions of a model that is served
"""
