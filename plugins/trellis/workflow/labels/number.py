"""Labels that are numbers."""

from collections.abc import Sequence

from trellis.workflow.labels import form
from trellis_contracts.dataset_features import Feature, Label

TOO_LARGE = 3.4028235677973366e38
"""Records hold float32, in which this and whatever is larger is infinite: it is halfway between
float32's largest number, 2**128 - 2**104, and 2**128."""
INFINITE = f"ABS({{}}) >= {TOO_LARGE}"
"""SQL of whether a number is infinite as float32; {} is the number."""


class Form(form.LabelForm):
    """See the module."""

    answer = "value"
    bad = f"label IS NULL OR IS_NAN(label) OR {INFINITE.format('label')}"
    words = "NULL, NaN or infinite as float32"
    is_named = False
    together = True

    def decoded(self, features: Sequence[Feature]) -> Label:
        return Label(dtype="float32")
