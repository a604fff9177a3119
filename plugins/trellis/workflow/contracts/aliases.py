"""Aliases and labels of an experiment's model versions. Imports nothing: also for parse time."""

CHAMPION = "champion"
"""The version that is served and used for batch predictions."""

PREVIOUS = "previous"
"""The version that was the champion before."""

CHALLENGER = "challenger"
"""The version that a run promoted, and that has not become the champion (yet)."""

RUN_LABEL = "trellis-run"
"""The label that says which run registered a version."""

FIRST_LABEL = "trellis-first-version"
"""The label of a version that another image serves: the number that its training had first."""

PATTERN = r"^([0-9]+|[a-z][a-zA-Z0-9-]{0,126}[a-z0-9])$"
"""A version's number, or an alias in Vertex AI's syntax."""
