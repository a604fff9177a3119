"""Labels that are a time, and whether an event happened then."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting import ExportError
from trainer.exporting.number_statistics import Numbers
from trainer.exporting.tables.checks import where
from trainer.exporting.tables.labels import number
from trainer.exporting.tables.summaries import Summary
from trellis_contracts.columns import EVENT, Columns, EventColumn
from trellis_contracts.dataset import SPLITS
from trellis_contracts.dataset_features import SPANS, Event, Feature, Label
from trellis_contracts.withheld import quoted


class Form(number.Form):
    """See the module."""

    block = (*number.Form.block, ("event", pa.int64()))

    def __init__(self, columns: Columns):
        super().__init__(columns)
        assert columns.event is not None  # columns.json is checked
        self._event: EventColumn = columns.event

    def read(self, batch, keys, findings):
        """See LabelForm. A time may not be negative."""
        times = super().read(batch, keys, findings)
        negative = pc.less(batch.column("label"), 0).fill_null(False)
        negatives = where(keys, negative.to_numpy(zero_copy_only=False))
        findings.add(f"the time ({self._columns.label}) is negative", negatives)
        events = batch.column(EVENT).cast(pa.int64()).fill_null(-1)
        known = np.isin(events.to_numpy(), (0, 1))
        findings.add(f"the event ({self._event.name}) is neither 0 nor 1", where(keys, ~known))
        return [*times, events]

    def summaries(self, block, order):
        times, events = (block.column(name).to_numpy()[order] for name in ("label", "event"))
        of_events = Numbers.of(np.where(events == 1, times, np.nan))
        return {**super().summaries(block, order), EVENT: of_events}

    def described(
        self, features: Sequence[Feature], summary: Mapping[str, Summary], name: str | None
    ) -> Label:
        label = super().described(features, summary, name)
        found = summary[EVENT]
        assert isinstance(found, Numbers)
        if not found.count:
            raise ExportError(
                f"the event ({self._event.name}) happened in no row of the train split: all "
                f"{found.missing} are censored, and there is nothing to learn"
            )
        longest = label.number_statistics.max
        if beyond := [time for time in self._event.horizons if time >= longest]:
            raise ExportError(
                f"the horizon {beyond[0]:g} is beyond the longest time of the train split, "
                f"{quoted(f'{longest:g}', 'which is shorter')}: nothing is known of it; leave it "
                "out"
            )
        quantiles = found.statistics().quantiles
        if not quantiles[-1] > 0:
            raise ExportError(
                f"every event of the train split is at the time 0 ({self._columns.label}): there "
                "is no time to learn"
            )
        return replace(label, event=Event.of(self._event.name, quantiles, self._event.horizons))

    def encoded(self, block, classes, files):
        """(n, 2) times and events."""
        events = block.column("event").to_numpy().astype(np.float32)
        return np.stack([block.column("label").to_numpy(), events], axis=1)

    def tally(self, block, label, files):
        """(2, SPANS) rows without and with the event; later ones count in the last span."""
        times, events = (block.column(name).to_numpy() for name in ("label", "event"))
        share = times.astype(np.float64) / label.number_statistics.max
        place = np.minimum((share * SPANS).astype(int), SPANS - 1)
        return np.bincount(events * SPANS + place, minlength=2 * SPANS).reshape(2, SPANS)

    def counted(self, label, counts, tallies):
        """See LabelForm. Raises ExportError if a split has no event."""
        assert label.event is not None
        spans = {split: tallies.get(split, np.zeros((2, SPANS), int)) for split in SPLITS}
        happened = {split: int(found[1].sum()) for split, found in spans.items()}
        if without_any := [split for split, count in happened.items() if not count]:
            raise ExportError(
                f"the event ({label.event.column}) happened in no example of the {without_any[0]} "
                f"split ({happened}): give it a larger share, or divide the events "
                "(split.stratify)"
            )
        censored, events = (
            {split: tuple(found[kind].tolist()) for split, found in spans.items()}
            for kind in (0, 1)
        )
        event = replace(label.event, events=events, censored=censored)
        return replace(label, event=event), counts, ()
