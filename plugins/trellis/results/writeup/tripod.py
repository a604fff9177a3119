"""The TRIPOD+AI checklist for studies of prediction models, filled in as far as a run tells.

Numbers and titles: Collins et al., TRIPOD+AI statement, BMJ 2024;385:e078378,
doi:10.1136/bmj-2023-078378. What each asks for is in our words: hold the published checklist beside
it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from trellis.results.scores import score
from trellis.results.writeup import data, modelling, scoring
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.markdown import code, listed, open_, table


@dataclass(frozen=True)
class Item:
    """number, title: in the checklist. asks: for what, empty if the title says so. tells: what the
    run tells of that, or None. rest: what the author must add; empty if nothing.
    """

    number: str
    title: str
    asks: str
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
        topic = ": ".join(filter(None, [item.title, item.asks]))
        rows.append((item.number, topic, " ".join(filter(None, [answer, rest]))))
    return "\n\n".join(
        [
            "# TRIPOD+AI checklist",
            f"The run tells something of {done} of {len(ITEMS)} items. Numbers and titles: Collins "
            "et al., BMJ 2024;385:e078378; what they ask for is in our words.",
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


def _missing(f: Facts) -> str:
    if not any(one.statistics and one.statistics.missing for one in f.dataset.features):
        return data.missing(f)
    return f"{data.missing(f)} Item 12b says how they were handled. {open_('why they are missing')}"


def _calculated(f: Facts) -> str | None:
    if f.board.folds:
        return "Each example was predicted by the models of folds that had not seen it."
    chosen = f.selected
    if chosen is None:
        return None
    return (
        f"The exported model itself ({code(f'{chosen.uri}model/')}) predicted each example of the "
        f"test split ({code(f'{chosen.uri}predictions.parquet')})."
    )


def _numbers(f: Facts) -> str:
    return f"{data.source(f)} {data.outcome_by_split(f)}"


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
    Item("1", "Title", "development or evaluation, population, outcome", _title, "population"),
    Item("2", "Abstract", "by TRIPOD+AI for Abstracts", None, "abstract"),
    Item("3a", "Background", "context, purpose, existing models", None, "context and rationale"),
    Item("3b", "Background", "target population, intended use and users", None, "intended use"),
    Item("3c", "Background", "known inequalities between groups", None, "known inequalities"),
    Item("4", "Objectives", "", None, "objectives"),
    Item("5a", "Data", "sources, and why these", data.source, "why they are representative"),
    Item("5b", "Data", "dates", data.dates, "accrual and follow-up"),
    Item(
        "6a", "Participants", "setting and centres", None, "setting, number and places of centres"
    ),
    Item(
        "6b",
        "Participants",
        "who was eligible",
        None,
        "criteria; the source's query has those of the rows",
    ),
    Item("6c", "Participants", "treatments", None, "treatments received"),
    Item("7", "Data preparation", "with its quality", _quality, ""),
    Item("8a", "Outcome", "definition and time", data.outcome, "how and when it was assessed"),
    Item("8b", "Outcome", "assessors, if it is a judgement", None, "assessors"),
    Item("8c", "Outcome", "blinding", None, "blinding"),
    Item("9a", "Predictors", "choice", data.predictors, "why these"),
    Item("9b", "Predictors", "definition and measurement", None, "how and when they were measured"),
    Item("9c", "Predictors", "assessors, if they are a judgement", None, "assessors"),
    Item("10", "Sample size", "", data.source, "how it was arrived at"),
    Item("11", "Missing data", "", _missing, ""),
    Item(
        "12a",
        "Analytical methods",
        "use of the data for development and evaluation",
        data.split_rule,
        "",
    ),
    Item("12b", "Analytical methods", "handling of predictors", data.preprocessing, ""),
    Item(
        "12c",
        "Analytical methods",
        "model, building steps, search, internal validation",
        lambda f: f"{modelling.models(f)} {modelling.search(f)} {modelling.training(f)}",
        "why this type of model",
    ),
    Item(
        "12d",
        "Analytical methods",
        "differences between clusters",
        scoring.slices,
        "whether sites differ",
    ),
    Item("12e", "Analytical methods", "measures of performance", scoring.evaluation, ""),
    Item(
        "12f",
        "Analytical methods",
        "updating of the model",
        scoring.updating,
        "any that came after this run",
    ),
    Item("12g", "Analytical methods", "how predictions were calculated", _calculated, ""),
    Item("13", "Class imbalance", "", _balance, ""),
    Item("14", "Fairness", "", scoring.slices, "groups that were compared, and what was done"),
    Item("15", "Model output", "with its thresholds", _output, ""),
    Item("16", "Training versus evaluation", "differences of their data", _same_source, ""),
    Item("17", "Ethical approval", "with consent", None, "approval and consent"),
    Item("18a", "Funding", "", None, "funding"),
    Item("18b", "Conflicts of interest", "", None, "conflicts"),
    Item("18c", "Protocol", "", None, "protocol"),
    Item("18d", "Registration", "", None, "registration"),
    Item("18e", "Data sharing", "", _sharing, "who may have them"),
    Item("18f", "Code sharing", "", modelling.software, "where the code is"),
    Item("19", "Patient and public involvement", "", None, "involvement"),
    Item("20a", "Participants", "flow", _flow, "participants who were left out before the source"),
    Item("20b", "Participants", "characteristics", data.characteristics, "those that no model saw"),
    Item(
        "20c",
        "Participants",
        "training and evaluation data compared",
        data.outcome_by_split,
        "distribution of key predictors in the evaluation data",
    ),
    Item("21", "Model development", "numbers in each analysis", _numbers, ""),
    Item("22", "Model specification", "", _specified, "who may use it"),
    Item("23a", "Model performance", "with intervals", _performance, ""),
    Item("23b", "Model performance", "in clusters", scoring.slices, "results by site"),
    Item("24", "Model updating", "results", scoring.updating, "any that came after this run"),
    Item("25", "Interpretation", "", None, "interpretation, with fairness and earlier studies"),
    Item("26", "Limitations", "", _limits, "further limitations"),
    Item(
        "27a",
        "Usability of the model in the context of current care",
        "input that is poor or missing",
        data.preprocessing,
        "what users should do",
    ),
    Item(
        "27b",
        "Usability of the model in the context of current care",
        "what users must do, and know",
        None,
        "interaction and expertise",
    ),
    Item(
        "27c",
        "Usability of the model in the context of current care",
        "next steps",
        None,
        "further research",
    ),
)
