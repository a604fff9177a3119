"""The metrics of the validation split, over all replicas."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from trainer.models import answering
from trainer.training import TrainingError
from trainer.training.distribution import Distribution
from trainer.training.input_pipeline import Input
from trainer.training.sums import Sums
from trainer.training.training_state import TrainingState


def build(
    distribution: Distribution, state: TrainingState, data: Input
) -> Callable[[], dict[str, float]]:
    """A function () -> metrics over the validation split.

    It raises TrainingError if that was not each example of the description exactly once.
    """
    strategy, objective = distribution.strategy, state.objective
    model = answering.of(state.model)
    sums, columns = Sums(strategy, 3 + objective.tallies), 1 + objective.gathered
    batches = data.evaluation("validation")
    steps = tf.constant(data.evaluation_steps("validation"))

    def replica_step(batch):
        inputs, labels, weights = batch
        outputs = model(inputs, training=False)
        measures = objective.measures(labels, outputs)
        sums.add(
            *(tf.reduce_sum(v * weights) for v in (*measures, tf.ones_like(weights))),
            objective.tally(labels, outputs, weights),
        )
        if not objective.gathered:
            return tf.zeros([0, 1])
        return tf.concat([weights[:, None], objective.ranked(labels, outputs)], 1)

    @tf.function(autograph=False)
    def evaluate_steps(batches, count):
        """Sums over all replicas, and what this process's replicas return, (any, columns)."""

        def one(step, ranked):
            results = strategy.run(replica_step, args=(next(batches),))
            local = tf.concat(strategy.experimental_local_results(results), 0)
            return step + 1, ranked.write(step, local)

        sums.clear()
        shape = [None, columns]
        ranked = tf.TensorArray(tf.float32, count, element_shape=shape, infer_shape=False)
        _, ranked = tf.while_loop(lambda step, _: step < count, one, (0, ranked))
        return sums.read(), ranked.concat()

    def evaluate() -> dict[str, float]:
        totals, ranked = evaluate_steps(batches, steps)
        totals = totals.numpy()
        *means, examples = totals[:3].tolist()
        if examples != data.examples("validation"):
            raise TrainingError(
                f"the validation split has {data.examples('validation')} examples by its "
                f"dataset.json, but {examples:.0f} in its files: export the dataset again"
            )
        metrics = objective.means(means, examples)
        metrics |= objective.tallied(totals[3:], metrics, examples)
        if objective.gathered:
            # Bits of float32 as int32, which is what can be gathered.
            everyone = distribution.gather(ranked.numpy().ravel().view(np.int32))
            rows = everyone.view(np.float32).reshape(-1, columns)
            metrics |= objective.orders(rows[rows[:, 0] > 0, 1:])
        return metrics

    return evaluate
