"""What trainings have chosen on the validation split, measured on the test split for the
leaderboard.
"""

from collections.abc import Mapping
from typing import Any

from trainer.comparison import calibrations, coverage, decisions
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics.outcome import AnyOutcome, Outcome
from trellis_contracts.decision import Rule


def uncalibrated(run: Run, split: HeldOutSplit) -> dict[str, AnyOutcome]:
    """The predictions before calibration, by contender's name. Raises HeldOutSplitError."""
    return {
        contender.name: split.outcome(contender.uncalibrated)
        for contender in run.contenders
        if contender.uncalibrated is not None
    }


def facts(
    run: Run, before: Mapping[str, AnyOutcome], scores: Scoreboard
) -> dict[str, dict[str, Any]]:
    """Fields of TrainingFacts, by contender's name. before: predictions before calibration."""
    asked = run.plan.configuration.get("decision")
    rule = Rule.from_document(asked) if asked else None
    scored = {standing.name for standing in scores.standings}
    return {
        contender.name: _facts(contender, rule, before.get(contender.name), scores)
        for contender in run.contenders
        if contender.name in scored and contender.training is not None
    }


def _facts(
    contender: Contender, rule: Rule | None, before: AnyOutcome | None, scores: Scoreboard
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    outcome, done = scores.outcome(contender.name), contender.postprocessing
    if done.calibration is not None and before is not None:
        found["calibration"] = calibrations.facts(done.calibration, outcome, before, scores)
    if done.conformal is not None:
        found["conformal"] = coverage.facts(done.conformal, outcome, scores.classes)
    if isinstance(outcome, Outcome):
        if rule is not None and outcome.threshold is not None:
            found["decision"] = decisions.facts(rule, outcome, scores)
        if done.abstention is not None:
            cost = rule.cost if rule is not None else None
            found["abstention"] = decisions.abstention(done.abstention, outcome, cost)
    return found
