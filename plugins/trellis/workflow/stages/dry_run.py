"""Output of a run that only plans: the stages it would run, what is reused, what it may cost."""

from collections.abc import Sequence

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import costs, shares
from trellis.workflow.stages.stage import Stage


def lines(stages: Sequence[Stage], plan: Plan, platform: Platform) -> list[str]:
    """The plan in lines, a stage each."""
    usd = plan.cost["stages"]
    shown = ["Only planned (dry_run): nothing ran, nothing was written, nothing was spent."]
    for stage in costs.of(stages, plan.experiment):
        for name, what in stage.dry_run(plan, platform):
            limit = f", at most {usd[name]:.2f} USD" if name in usd else ""
            shown.append(f"  {name:<8} {what}{limit}")
            if name in plan.shares:
                examples = shares.text(plan.experiment, plan.shares[name], name)
                shown.append(f"  {'':<8} {examples}")
    shown += [f"  {line}" for line in plan.reuse.lines()]
    shown.append(f"One run costs at most {plan.cost['at_most_usd']:.2f} USD in all.")
    saved = costs.spot_savings(stages, plan.experiment, platform, usd)
    if saved:
        shown.append(f"Spot machines save about {sum(saved.values()):.2f} USD of that.")
    shown.append(f"Assumed: {plan.cost['assumptions']}.")
    return shown
