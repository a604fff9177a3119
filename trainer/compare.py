"""Compare the contenders of a run; writes the folder leaderboard/.

    python -m trainer.compare --run gs://BUCKET/EXPERIMENT/runs/RUN/ --metric accuracy

The contenders are the run's full trainings, its baselines, and the model that is served at the time
of the run. All of them are scored from their predictions for the dataset's test split; every score
has a 95% confidence interval. The validation split selects the training that competes. A failed
contender is listed with the reason, and the comparison continues; a baseline with predictions for
other keys than the test split's has failed, and RUN/examples/NAME.txt has some of these keys. The
comparison ends with exit code 1 and writes nothing if a training's predictions are for other keys,
labels or classes than the test split's, or if there is no contender to score.

leaderboard.json has the scores, report.html is for people, figures.json has the specifications of
its figures. If the experiment has a deploy section, its gate decides whether that training is
promoted; challenger.json describes that training for the deployment.
"""

import argparse
import dataclasses
import sys
from collections.abc import Mapping

from trainer import storage, withheld
from trainer.comparison import (
    challenger,
    fold_intervals,
    folds,
    importance,
    leaderboard,
    postprocessed,
    scoreboard,
    selection,
    slices,
)
from trainer.comparison.baselines import with_baselines
from trainer.comparison.held_out_split import HeldOutSplit, HeldOutSplitError, read_held_out_split
from trainer.comparison.promotion import Decision, Gate, decide
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.repeats import read_repeats
from trainer.comparison.run_folder import Contender, Run, RunError, read_run
from trainer.comparison.scoreboard import Scoreboard, ScoringError
from trainer.comparison.selection import selected_training
from trainer.comparison.served import with_served
from trainer.comparison.slices import SlicesError
from trainer.families import FAMILIES
from trainer.metrics import binary
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome
from trainer.report.page import render
from trainer.storage import StorageError
from trellis_contracts import documents
from trellis_contracts.challenger import Challenger
from trellis_contracts.dataset import DatasetError
from trellis_contracts.layout import RunFolder
from trellis_contracts.leaderboard import Check, Importance
from trellis_contracts.withheld import RowsError


class ComparisonError(RowsError, ValueError):
    """The contenders cannot be compared; the message says which and why."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    flags = _parser().parse_args(arguments)
    try:
        written = compare(flags.run, flags.metric, flags.output)
    except (
        ComparisonError,
        DatasetError,
        RunError,
        ScoringError,
        SlicesError,
        StorageError,
        HeldOutSplitError,
    ) as error:
        text = "\n".join(withheld.for_log(error, RunFolder(flags.run).examples_of("compare")))
        print(f"trainer.compare: {text}", file=sys.stderr)
        return 1
    print(written)
    return 0


def compare(run_uri: str, metric_name: str, output: str | None = None) -> str:
    """Compare the contenders in the folder `run_uri`; returns the text to print.

    Writes leaderboard.json, report.html, figures.json and, for an experiment with a deploy section,
    challenger.json to `output`, by default RUN/leaderboard/. Raises the errors that `main` catches.
    """
    run = read_run(run_uri)
    classes = run.dataset.classes
    primary = scoreboard.metric_named(metric_name, run.dataset.family, classes)
    own = run
    run, split, crossed = _contenders(run)
    failures = {c.name: reason for c in run.contenders if (reason := _unusable(c, run))}
    scored = [contender for contender in run.contenders if contender.name not in failures]
    if not scored:
        raise ComparisonError(_nothing_to_compare(run, failures))
    outcomes = _outcomes(scored, split)
    selected = selected_training(scored, run.dataset.family)
    others = {c.name for c in scored if c.kind == "training" and c.name != selected}
    widening = fold_intervals.widening(crossed.folds) if crossed else 1.0
    scores = Scoreboard(outcomes, primary, others, classes, widening)
    parts = slices.read(run, split)
    deploy = run.plan.configuration.get("deploy")
    gate = Gate.of(deploy) if deploy is not None else None
    ranking = [standing.name for standing in scores.standings]
    judged = selection.challenger(scored, ranking, selected, gate.allow) if gate else None
    of = judged or selected or ranking[0]
    sliced = slices.measure(parts, outcomes, scores, of) if parts else None
    decision, challenging = None, None
    if gate is not None and deploy is not None:
        decision = decide(gate, run, scores, judged, failures, sliced)
        decision, challenging = _challenger(decision, own if crossed else run, deploy)
    repeats = read_repeats(run, selected, split, scores)
    permuted = None if crossed else _importance(run, selected, split, primary)
    before = postprocessed.uncalibrated(run, split)
    chosen = postprocessed.facts(run, before, scores)
    board = leaderboard.of(
        run, outcomes, scores, selected, failures, decision, repeats, permuted, sliced, chosen
    )
    if crossed:
        board = leaderboard.with_folds(board, folds.facts(crossed, scores, own))
    folder = output or run.files.comparison
    page, figures = render(run, board, outcomes, split, before)
    # Before leaderboard.json, whose presence means that the other files exist.
    storage.write_text(storage.join(folder, "report.html"), page)
    where = storage.join(folder, "figures.json")
    storage.write_text(where, documents.to_json("figures", figures, where))
    if challenging:
        where = storage.join(folder, challenger.FILE_NAME)
        storage.write_text(where, challenging.to_json(where))
    where = storage.join(folder, "leaderboard.json")
    storage.write_text(where, board.to_json(where))
    return (
        f"{leaderboard.table(board)}\n\n"
        f"Leaderboard  {where}\n"
        f"Report       {storage.join(folder, 'report.html')}"
    )


def _contenders(run: Run) -> tuple[Run, HeldOutSplit, folds.Crossed | None]:
    """The run with all its contenders, what they have predicted, and the folds, if it has any.

    The trainings of a run with folds have no predictions of their own there, only out-of-fold ones.
    """
    rule = folds.of_plan(run)
    if rule is None:
        split = read_held_out_split(run.dataset_uri, run.dataset)
        return with_served(with_baselines(run, split), split), split, None
    crossed = folds.read(run, rule, _unusable)
    folds.write(crossed.run)
    return folds.with_served(crossed.run), crossed.split, crossed


def _importance(
    run: Run, selected: str | None, split: HeldOutSplit, primary: Metric
) -> Importance | None:
    """Measure the importance of the selected training's features; None for a single feature, which
    is all that there is, of masks, or if it cannot be measured.
    """
    contender = next((c for c in run.contenders if c.name == selected), None)
    if contender is None or len(run.dataset.features) == 1 or run.dataset.entry.of_pixels:
        return None
    try:
        return importance.measure(run, contender, split, primary)
    except importance.ImportanceError as error:
        print(f"No permutation importance of {selected}: {error}")
        return None


def _challenger(
    decision: Decision, run: Run, deploy: Mapping
) -> tuple[Decision, Challenger | None]:
    """The decision, and challenger.json.

    Without raw examples there is no challenger.json, and a failed check is added to the decision.
    """
    contender = next((c for c in run.contenders if c.name == decision.challenger), None)
    if contender is None:
        return decision, None
    examples, private = deploy["smoke"]["examples"], deploy.get("private", False)
    try:
        return decision, challenger.of(run, contender, examples, private)
    except RawExamplesError as error:
        lacking = Check("raw examples for the smoke test exist", False, str(error))
        return dataclasses.replace(decision, checks=[*decision.checks, lacking]), None


def _unusable(contender: Contender, run: Run) -> str | None:
    """The reason why a contender cannot be scored; None if it can."""
    trained_on = contender.training.dataset.fingerprint if contender.training else None
    expected = run.trained_on.fingerprint
    if contender.reason is None and trained_on not in (None, expected):
        # It may have seen this dataset's test examples in training.
        return f"it was trained on dataset {trained_on}; the run's dataset is {expected}"
    return contender.reason


def _nothing_to_compare(run: Run, failures: Mapping[str, str]) -> str:
    if not failures:
        return f"{run.uri} has no training and no baseline to compare"
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in failures.items())
    return f"all {len(failures)} contenders failed; there is no winner:{reasons}"


def _outcomes(contenders: list[Contender], split: HeldOutSplit) -> dict[str, AnyOutcome]:
    """Outcomes by contender's name. Raises ComparisonError, naming all mismatches."""
    outcomes, problems = {}, []
    for contender in contenders:
        try:
            outcomes[contender.name] = split.outcome(contender.scorable)
        except HeldOutSplitError as error:
            problems.append(f"\n  {contender.name} {error.text}")
    if problems:
        raise ComparisonError(
            "not all contenders have predictions for the dataset's test split, so their scores "
            f"cannot be compared:{''.join(problems)}"
        )
    return outcomes


def _metrics() -> Mapping[str, Mapping[str, Metric]]:
    """The metrics by family, and those of two classes."""
    of_families = {name: family.metrics() for name, family in FAMILIES.items()}
    return {**of_families, "classification of two classes": binary.metrics()}


def _listing(task: str, metrics: Mapping[str, Metric]) -> str:
    lines = [f"  {m.name:22} {m.description}" for m in metrics.values()]
    return "\n".join([f"metrics of {task}:", *lines, "", ""])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="".join(
            _listing(task.replace("_", " "), metrics) for task, metrics in _metrics().items()
        ),
    )
    parser.add_argument(
        "--run",
        required=True,
        metavar="URI",
        help="the run's folder, gs://BUCKET/EXPERIMENT/runs/RUN/ or a path",
    )
    parser.add_argument(
        "--metric",
        required=True,
        help="metric of the ranking, one of those listed below for the task "
        "(loss: log_loss, rmse or integrated_brier)",
    )
    parser.add_argument(
        "--output",
        metavar="URI",
        help="folder to write to (default: leaderboard/ in the run's folder)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
