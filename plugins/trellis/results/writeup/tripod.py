"""The TRIPOD+AI checklist for studies of prediction models, filled in as far as a run tells.

Numbers and topics: Collins et al., TRIPOD+AI statement, BMJ 2024;385:e078378,
doi:10.1136/bmj-2023-078378. The words are ours: hold the published checklist beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from trellis.results.scores import score
from trellis.results.writeup import data, modelling, scoring
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, listed, open_, table


@dataclass(frozen=True)
class Item:
    """number: in the checklist. topic: what it asks for. tells: what the run tells of that, or
    None. rest: what the author must add; empty if nothing.
    """

    number: str
    topic: str
    tells: Callable[[Facts], str | None] | None
    rest: str


def text(f: Facts) -> str:
    """The checklist, as Markdown."""
    rows = []
    done = 0
    for item in ITEMS:
        answer = item.tells(f) if item.tells else None
        done += answer is not None
        rest = open_(item.rest) if item.rest or answer is None else None
        rows.append((item.number, item.topic, " ".join(filter(None, [answer, rest]))))
    return "\n\n".join(
        [
            "# TRIPOD+AI checklist",
            f"The run tells something of {done} of {len(ITEMS)} items. Items: Collins et al., BMJ "
            "2024;385:e078378, in our words.",
            table(["item", "topic", "in this study"], rows),
        ]
    )


def _title(f: Facts) -> str:
    return f"Development of a model for {code(f.plan.experiment)}, {f.settings['task']}."


def _quality(f: Facts) -> str:
    checked = f"data checks: {f.settings['source'].get('data_checks', 'off')}"
    found = f.dataset.warnings
    remarks = f" They found: {' '.join(f'{each}.' for each in found)}" if found else ""
    return f"{data.preprocessing(f)} Quality was checked ({checked}).{remarks}"


def _balance(f: Facts) -> str:
    if not f.dataset.classes:
        return "Not applicable: the outcome is a number."
    counts = f.dataset.counts["train"].classes
    shares = listed(f"{code(name)} {n:,}" for name, n in counts.items())
    chosen = f.selected
    weights = chosen.hyperparameters.get("class_weights") if chosen else None
    how = (
        f"The loss weighted classes: {weights}."
        if weights not in (None, "none")
        else ("The loss did not weight classes.")
    )
    weight = f.settings["source"].get("weight")
    rows = f" Rows were weighted by {code(weight)}." if weight else ""
    return f"In the training split: {shares}. {how}{rows}"


def _output(f: Facts) -> str:
    if not f.dataset.classes:
        return "The model predicts a number."
    chosen = f.selected
    rule = chosen.training.threshold if chosen and chosen.training else None
    text_ = "The model predicts a probability of each class"
    if rule is not None:
        return (
            f"{text_}; it decides for {code(rule.name)} above {rule.above:.4g}, chosen "
            "on the validation split."
        )
    return f"{text_} and decides for the most probable one."


def _same_source(f: Facts) -> str:
    return f"Training and test examples have one source. {data.split_rule(f)}"


def _sharing(f: Facts) -> str:
    return (
        f"The frozen examples are in {code(f.plan.dataset.uri)}; `trellis export-split` "
        "writes them."
    )


def _specified(f: Facts) -> str | None:
    chosen = f.selected
    return f"The model is in {code(f'{chosen.uri}model/')}." if chosen else None


def _performance(f: Facts) -> str:
    chosen = f.selected or f.board.first
    about = f.board.primary
    shown = score(chosen.metrics[f.board.primary_metric], about.decimals)
    on = "over all folds, of the procedure" if f.board.folds else "on the test split"
    figures = "`trellis export` writes all scores and the curves"
    text_ = f"{code(chosen.name)}: {about.title} {shown} {on}; {figures}."
    effects = (scoring.decision(f), scoring.abstention(f))
    subgroups = scoring.slices(f) or open_("key subgroups; `slices` names columns of them")
    return " ".join(filter(None, [text_, *effects, subgroups]))


def _limits(f: Facts) -> str | None:
    return " ".join(scoring.limitations(f)) or None


def _flow(f: Facts) -> str:
    return f"{data.source(f)} {data.outcome(f)}"


ITEMS = (
    Item("1", "title: development or evaluation, population, outcome", _title, "population"),
    Item("2", "abstract, by TRIPOD+AI for Abstracts", None, "abstract"),
    Item("3a", "background: context, purpose, existing models", None, "context and rationale"),
    Item("3b", "background: target population, intended use and users", None, "intended use"),
    Item("3c", "background: known inequalities between groups", None, "known inequalities"),
    Item("4", "objectives", None, "objectives"),
    Item("5a", "sources of the data, and why these", data.source, "why they are representative"),
    Item("5b", "dates of the data", data.dates, "accrual and follow-up"),
    Item("6a", "setting and centres", None, "setting, number and places of centres"),
    Item("6b", "who was eligible", None, "criteria; the source's query has those of the rows"),
    Item("6c", "treatments", None, "treatments received"),
    Item("7", "preparation and quality of the data", _quality, ""),
    Item("8a", "outcome: definition and time", data.outcome, "how and when it was assessed"),
    Item("8b", "outcome: assessors, if it is a judgement", None, "assessors"),
    Item("8c", "outcome: blinding", None, "blinding"),
    Item("9a", "predictors: choice", data.predictors, "why these"),
    Item("9b", "predictors: definition and measurement", None, "how and when they were measured"),
    Item("9c", "predictors: assessors, if they are a judgement", None, "assessors"),
    Item("10", "sample size", data.source, "how it was arrived at"),
    Item("11", "missing data", data.missing, "why they are missing"),
    Item("12a", "use of the data for development and evaluation", data.split_rule, ""),
    Item("12b", "handling of predictors", data.preprocessing, ""),
    Item(
        "12c",
        "model, building steps, search, internal validation",
        lambda f: f"{modelling.models(f)} {modelling.search(f)} {modelling.training(f)}",
        "why this type of model",
    ),
    Item("12d", "differences between clusters", scoring.slices, "whether sites differ"),
    Item("12e", "measures of performance", scoring.evaluation, ""),
    Item("12f", "updating of the model", scoring.updating, "any that came after this run"),
    Item("12g", "how predictions were calculated", _output, ""),
    Item("13", "class imbalance", _balance, ""),
    Item("14", "fairness", scoring.slices, "groups that were compared, and what was done"),
    Item("15", "output of the model and its thresholds", _output, ""),
    Item("16", "differences of training and evaluation data", _same_source, ""),
    Item("17", "ethical approval and consent", None, "approval and consent"),
    Item("18a", "funding", None, "funding"),
    Item("18b", "conflicts of interest", None, "conflicts"),
    Item("18c", "protocol", None, "protocol"),
    Item("18d", "registration", None, "registration"),
    Item("18e", "sharing of data", _sharing, "who may have them"),
    Item("18f", "sharing of code", modelling.software, "where the code is"),
    Item("19", "involvement of patients and the public", None, "involvement"),
    Item("20a", "flow of participants", _flow, "participants who were left out before the source"),
    Item("20b", "characteristics of participants", data.characteristics, "those that no model saw"),
    Item(
        "20c",
        "training and evaluation data compared",
        data.outcome_by_split,
        "distribution of key predictors in the evaluation data",
    ),
    Item("21", "numbers in each analysis", data.source, ""),
    Item("22", "full specification of the model", _specified, "who may use it"),
    Item("23a", "performance with intervals", _performance, ""),
    Item("23b", "performance in clusters", scoring.slices, "results by site"),
    Item("24", "results of updating", scoring.updating, "any that came after this run"),
    Item("25", "interpretation", None, "interpretation, with fairness and earlier studies"),
    Item("26", "limitations", _limits, "further limitations"),
    Item("27a", "use: input that is poor or missing", data.preprocessing, "what users should do"),
    Item("27b", "use: what users must do, and know", None, "interaction and expertise"),
    Item("27c", "next steps", None, "further research"),
)
