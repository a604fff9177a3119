"""The model card of a run's selected training.

Headings: Mitchell et al., Model Cards for Model Reporting, 2019, doi:10.1145/3287560.3287596.
"""

from trellis.results.writeup import data, modelling, scoring
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, open_, table


def text(f: Facts) -> str:
    """The card, as Markdown."""
    chosen = f.selected
    name = f"{f.plan.experiment}, {chosen.name}" if chosen else f.plan.experiment
    weights = chosen.training.weights_sha256 if chosen and chosen.training else None
    details = [
        ("Owner", f.settings["owner"]),
        ("Trained", f.plan.created[:10]),
        ("Task", f.settings["task"]),
        ("Run", code(f.plan.run)),
        ("Model's folder", code(chosen.uri) if chosen else "none"),
        ("SHA-256 of the weights", code(weights) if weights else "not known"),
        ("Licence", open_("licence of the model")),
        ("Contact", open_("whom to ask")),
    ]
    remarks = [f"- {each}" for each in scoring.limitations(f)]
    parts = [
        f"# Model card: {name}",
        " ".join(f.plan.description.partition("\n\n")[0].split()),
        "## Model details",
        table(["", ""], details),
        f"{modelling.models(f)} {modelling.training(f)}",
        modelling.hyperparameters(f),
        "## Intended use",
        open_("who may use it, for what decision, and for what it must not be used"),
        "## Factors",
        f"{data.predictors(f)} "
        + open_("groups of people, sites or devices for which it may perform differently"),
        "## Metrics",
        scoring.evaluation(f),
        "## Training data",
        f"{data.source(f)} {data.split_rule(f)} {data.outcome(f)}",
        data.class_counts(f),
        "## Evaluation data",
        f"{data.tested(f)} Dates: {data.dates(f)}",
        "## Quantitative analyses",
        scoring.results(f),
        *filter(None, [scoring.slices(f), scoring.slice_table(f)]),
        *scoring.held_out(f),
        " ".join(filter(None, [modelling.repeats(f), scoring.importance(f)])),
        "## Ethical considerations",
        open_("consent, sensitive data, harm of a wrong answer, who reviewed it"),
        "## Caveats and recommendations",
        "\n".join(remarks) or "The comparison and the data checks had no remarks.",
        scoring.gate(f),
    ]
    return "\n\n".join(parts)
