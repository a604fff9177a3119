"""The programs of the rows: each runs in its environment, by `python -m benchmarks.speed`."""
