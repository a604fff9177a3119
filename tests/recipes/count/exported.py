"""Labels that are counts."""

from trainer.exporting.tables.checks import where
from trainer.exporting.tables.labels import number


class Form(number.Form):
    """See the module."""

    def read(self, batch, keys, findings):
        (found,) = super().read(batch, keys, findings)
        values = found.to_numpy()
        findings.add(f"{self._title} is no count", where(keys, (values < 0) | (values % 1 != 0)))
        return [found]
