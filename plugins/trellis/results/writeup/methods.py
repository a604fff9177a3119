"""The methods section: what was done, in paragraphs; and a table of what came of it."""

from trellis.results.writeup import data, modelling, scoring
from trellis.results.writeup.facts import Facts


def text(f: Facts) -> str:
    """The section, as Markdown."""
    parts = [
        "## Methods",
        "### Data",
        f"{data.source(f)} {data.outcome(f)}",
        data.class_counts(f),
        f"Dates: {data.dates(f)}",
        data.split_rule(f),
        "### Predictors",
        f"{data.predictors(f)} {data.missing(f)}",
        data.preprocessing(f),
        "### Models and training",
        modelling.models(f),
        modelling.search(f),
        modelling.training(f),
        modelling.hyperparameters(f),
        "### Evaluation",
        scoring.evaluation(f),
        scoring.metrics(f),
        modelling.repeats(f),
        "### Software and hardware",
        f"{modelling.software(f)} {modelling.hardware(f)}",
        "## Results",
        scoring.results(f),
        *filter(None, [scoring.slices(f), scoring.slice_table(f)]),
        *scoring.held_out(f),
        scoring.gate(f),
    ]
    return "\n\n".join(parts)
