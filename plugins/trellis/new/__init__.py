"""`trellis new experiment` and `trellis upload`: from somebody's data to an experiment file."""
