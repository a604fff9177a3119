"""The package in the job image: exports datasets, trains models, compares contenders, serves."""
