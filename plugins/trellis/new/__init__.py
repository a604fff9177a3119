"""`trellis new experiment` and `trellis upload`: from data to an experiment file."""
