"""What versions of an experiment's model are called by. Imports nothing: for parse time, too."""

CHAMPION = "champion"
"""The version that is served, and predicts."""

PREVIOUS = "previous"
"""The version that was the champion before."""

CHALLENGER = "challenger"
"""The version that a run promoted, and that has not become the champion (yet)."""

RUN_LABEL = "trellis-run"
"""The label that says which run registered a version."""

PATTERN = r"^([0-9]+|[a-z][a-zA-Z0-9-]{0,126}[a-z0-9])$"
"""A version's number, or an alias: its form is Vertex AI's."""
