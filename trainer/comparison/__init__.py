"""The scientific core of `trainer.compare`: contenders, scores, uncertainty, leaderboard.

test_split    keys and labels that every contender must have predicted, from the TFRecords
contenders    what a run left in its folder: plan, tuning trials, full trainings
scores        the metrics, for one contender and for many resamples of the test split at once
bootstrap     95% intervals of a score and of the difference between two contenders
leaderboard   the ranking, leaderboard.json and the table in the terminal
"""
