"""leaderboard.json: the result of comparing the contenders of one run on the dataset's test split.
The comparison writes it; the promotion, the deployment, the index of runs and the pages read it.

leaderboard.schema.json explains each field. Of a run's contenders, three have a role:

winner      the first of the leaderboard, a baseline or the model that was served before among them
selected    the training that the validation split chose: it alone of a run can be deployed
served      the selected training, if this run put it into service

The winner may be a baseline, and the training that is promoted beside it has another score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis_contracts.challenger import Versions
from trellis_contracts.cross_validation import CrossValidation, Spread
from trellis_contracts.decision import NamedThreshold, Rule
from trellis_contracts.deployment import SERVING, Deployment
from trellis_contracts.files import File, Part, optional
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.metrics import Goal


@dataclass(frozen=True)
class Estimate(Part):
    """A score or a difference of two, at its published decimals. interval: its low and high end."""

    value: float
    interval: tuple[float, float]

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.interval[1]


@dataclass(frozen=True)
class Difference(Part):
    """A contender compared with the winner on the same examples.

    metrics: its score minus the winner's. won_by_winner, won_by_this: examples that only one of
    them classified correctly; regression: where it came closer. distinguishable: the interval of
    the primary metric's difference leaves out zero.
    """

    metrics: Mapping[str, Estimate]
    won_by_winner: int
    won_by_this: int
    distinguishable: bool


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts(Part):
    """The calibration of a training. method, examples, temperature, remark: as in its
    postprocessing.json. before: its scores on the test split without it. change: what it has added
    to those of proper scoring rules.
    """

    method: str
    examples: int
    temperature: float | None = optional()
    remark: str | None = optional()
    before: Mapping[str, Estimate]
    change: Mapping[str, Estimate]


@dataclass(frozen=True)
class CostFacts(Part):
    """What the decisions cost on the test split, for each example. model: with its own threshold;
    at_half: if the more probable class were decided; change: the first minus the second. all, none:
    if all examples were decided as positive, or none.
    """

    missed: float
    false_alarm: float
    model: Estimate
    at_half: Estimate
    change: Estimate
    all: float
    none: float


@dataclass(frozen=True, kw_only=True)
class DecisionFacts(Part):
    """What the threshold of a training does on the test split. rule: by which it was chosen. above:
    the threshold. at_half: the metrics of decisions if the more probable class were decided.
    """

    rule: Rule
    above: float
    at_half: Mapping[str, Estimate]
    cost: CostFacts | None = optional()


@dataclass(frozen=True)
class AbstentionFacts(Part):
    """What a training hands back of the test split. share: as asked for. answered: share of the
    examples that it answers. risk: share of wrong decisions among them; risk_of_all: among all.
    cost: of an answered example, if the threshold was chosen by costs.
    """

    share: float
    answered: Estimate
    risk: Estimate
    risk_of_all: Estimate
    cost: Estimate | None = optional()


@dataclass(frozen=True, kw_only=True)
class ConformalFacts(Part):
    """The sets or intervals of a training. coverage: as asked for. examples, groups: of the
    validation split. reached: coverage of the test split; of_class: of the examples of each class.
    size: mean number of classes in a set, or width of an interval.
    """

    coverage: float
    examples: int
    groups: int | None = optional()
    reached: Estimate
    of_class: Mapping[str, Estimate]
    size: float


@dataclass(frozen=True, kw_only=True)
class TrainingFacts(Part):
    """Figures of a training's metrics.json. start: file of the weights that it began with; None:
    new ones. validation: the metric that it was trained for. replicas: processes that took part.
    """

    model: str
    parameters: int | None
    seed: int
    start: str | None = optional()
    strategy: str
    epochs_run: int
    best_epoch: int
    validation: Mapping[str, float]
    threshold: NamedThreshold | None = optional()
    calibration: CalibrationFacts | None = optional()
    decision: DecisionFacts | None = optional()
    abstention: AbstentionFacts | None = optional()
    conformal: ConformalFacts | None = optional()
    replicas: int
    weights_sha256: str | None


@dataclass(frozen=True)
class BaselineFacts(Part):
    """Fields of a baseline.json. evaluation: the service's own single values."""

    model: str | None
    options: Mapping[str, Any]
    features_left_out: tuple[str, ...]
    evaluation: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Contender(Part):
    """name: its folder below the run. rank: None if it failed. kind: tensorflow, bqml, automl or
    served. status: ok or failed. reason: why it failed. selected: None of other kinds than
    trainings, and of the failed. difference: None of the winner and the failed. trial: that its
    hyperparameters come from. seconds, cost_usd: of the training, the second at most; None where
    unknown. uri: of its folder. learned_nothing: why its predictions are of no use.
    """

    name: str
    rank: int | None = None
    kind: str
    status: str
    reason: str | None = None
    selected: bool | None = None
    metrics: Mapping[str, Estimate]
    difference: Difference | None = None
    trial: str | None
    hyperparameters: Mapping[str, Value]
    training: TrainingFacts | None
    baseline: BaselineFacts | None
    seconds: float | None
    cost_usd: float | None
    uri: str
    learned_nothing: str | None = optional()


@dataclass(frozen=True)
class Metric(Part):
    """A metric by which contenders are scored. title: its name for people. average: what it is an
    average over. goal: maximize or minimize. interval, difference_interval: methods. decimals: that
    values are rounded to. chance: the score of an answer that does not look at the example.
    """

    title: str
    average: str
    goal: Goal
    description: str
    interval: str
    difference_interval: str
    decimals: int
    chance: float | None

    @property
    def shown_decimals(self) -> int:
        """Number of decimals to show: two fewer than the file has."""
        return max(0, self.decimals - 2)


@dataclass(frozen=True)
class ComparedOn(Part):
    """The dataset. label: a table's column. examples: by split. rejected: lines without one."""

    uri: str
    fingerprint: str
    label: str | None
    features: int
    classes: tuple[str, ...]
    examples: Mapping[str, int]
    rejected: int


@dataclass(frozen=True)
class Uncertainty(Part):
    """level: of the intervals. comparisons: differences of one contender to the others; their
    intervals hold together at `level`. groups: that the intervals count in place of examples.
    """

    level: float
    comparisons: int
    difference_level: float
    resamples: int
    seed: int
    groups: int | None = optional()


@dataclass(frozen=True)
class Check(Part):
    """One condition of the gate, whether it holds, and the values that decide it."""

    check: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class ServedModel(Part):
    """The model that was served when the run looked: resource names."""

    model: str
    endpoint: str | None


@dataclass(frozen=True)
class Promotion(Part):
    """The gate's decision. challenger: what the gate judges. promoted: it passed every check.
    reason: the decision in one sentence, without a full stop.
    """

    challenger: str | None
    promoted: bool
    reason: str
    checks: tuple[Check, ...]
    served: ServedModel | None


@dataclass(frozen=True)
class FailedSeed(Part):
    """A seed without a score, and why."""

    seed: int
    reason: str


@dataclass(frozen=True)
class Repeats(Part):
    """The selected training with other seeds. of: its name. seeds: those that were scored, its own
    first. metrics: those that are defined for all of them.
    """

    of: str
    seeds: tuple[int, ...]
    metrics: Mapping[str, Spread]
    failed: tuple[FailedSeed, ...]


@dataclass(frozen=True)
class FeatureImportance(Part):
    """What the training loses without the feature."""

    feature: str
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Importance(Part):
    """Permutation importance. of: name of the training. metric: by whose loss it is measured.
    examples: rows of the test split. permutations: of each feature. features: by falling value.
    """

    of: str
    metric: str
    examples: int
    permutations: int
    features: tuple[FeatureImportance, ...]


@dataclass(frozen=True)
class Slice(Part):
    """A part of the test split. name: "site = C". by: the columns of the source. groups: that its
    intervals count in place of examples. judged: whether it has enough examples for that. gap: the
    training's score in it minus that on all other test examples; None if there is none. metrics:
    by contender.
    """

    name: str
    by: tuple[str, ...]
    examples: int
    judged: bool
    gap: Estimate | None
    metrics: Mapping[str, Mapping[str, Estimate]]
    groups: int | None = optional()

    def is_worse(self, goal: Goal) -> bool:
        """Whether the training is worse in it than elsewhere: its gap's interval excludes zero."""
        if self.gap is None:
            return False
        return self.gap.high < 0 if goal == "maximize" else self.gap.low > 0


@dataclass(frozen=True)
class Slices(Part):
    """Scores in parts of the test split, the largest gaps first. of: whose gaps. metric: of the
    gaps. comparisons: gaps that were looked at, each with an interval of `level`.
    """

    of: str
    metric: str
    comparisons: int
    level: float
    slices: tuple[Slice, ...]


@dataclass(frozen=True, kw_only=True)
class Leaderboard(File):
    """The file; the schema explains the fields."""

    CONTRACT: ClassVar[str] = "leaderboard"
    SCHEMA: ClassVar[int] = 5

    experiment: str | None
    run: str
    run_id: str | None
    created: str | None
    data_interval: Mapping[str, str | None] | None
    task: str
    dataset: ComparedOn
    positive: str | None = optional()
    primary_metric: str
    metrics: Mapping[str, Metric]
    uncertainty: Uncertainty
    provenance: Versions
    notes: tuple[str, ...]
    winner: str
    promotion: Promotion | None
    contenders: tuple[Contender, ...]
    repeats: Repeats | None = optional()
    importance: Importance | None = optional()
    slices: Slices | None = optional()
    folds: CrossValidation | None = optional()

    @property
    def primary(self) -> Metric:
        """The metric that decides the ranking."""
        return self.metrics[self.primary_metric]

    @property
    def first(self) -> Contender:
        """The winner."""
        return next(c for c in self.contenders if c.name == self.winner)

    @property
    def selected(self) -> Contender | None:
        """The training that competes; None if no training could be scored."""
        return next((c for c in self.contenders if c.selected), None)

    def served(self, deployment: Deployment | None) -> Contender | None:
        """The model that this run put into service. deployment: None if there was none."""
        if deployment is None or deployment.state != SERVING:
            return None
        return next((c for c in self.contenders if c.name == deployment.challenger), None)
