"""The scientific core of `trainer.compare`: contenders, scores, uncertainty, leaderboard.

test_split    keys and labels that every contender must have predicted, from the TFRecords
run           what a run left in its folder: plan, tuning trials, full trainings
outcome       one contender's predictions, aligned with the test split
scores        the metrics, for the split as it is and for many resamples of it at once
auc, ranks    the metric of ranking, and what it is made of
calibration   the metric of calibration, whose interval needs care
bootstrap     resamples of the test split, and intervals from them
proportions   intervals of shares of examples, for which the bootstrap is not good enough
intervals     which interval fits which metric
scoreboard    the ranking, with every contender's difference to the champion
notes         what a reader must know before believing it
leaderboard   leaderboard.json and the table in the terminal
provenance    versions and fingerprint of the code
"""
