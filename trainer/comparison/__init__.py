"""The scientific core of trainer.compare: contenders, scores, uncertainty, leaderboard.

trainer.metrics has the metrics.

held_out_split   keys and labels of the test split, from the TFRecords
run_folder       the files of a run: plan, tuning trials, full trainings
baselines        the baselines of a run, as contenders
served           the served model, as a contender
raw_predictions  converts predictions of BigQuery ML and AutoML
bootstrap        resamples of the test split, and percentile intervals
proportions      intervals of shares of examples, where the bootstrap fails
pseudo_error     intervals of averages over classes, where the bootstrap fails
samples          the scores in all resamples, with and without pseudo-errors
studentized      intervals of mean errors, where the bootstrap fails
intervals        which interval each metric has
scoreboard       the ranking, and the difference between any two contenders
selection        which training competes: the best on the validation split
slices           scores in parts of the test split, and their gaps to the rest
promotion        whether it may be deployed
notes            caveats of the ranking
leaderboard      leaderboard.json and the table in the terminal
provenance       versions and fingerprint of the code
challenger       challenger.json: what the deployment of a training needs
raw_examples     rows of the test split as clients send them
originals        images of the test split, and the files that they were made of
scoring          predictions of the served model
"""
