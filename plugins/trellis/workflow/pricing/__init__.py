"""Limits of a run's cost, from a table of prices."""
