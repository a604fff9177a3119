"""Labels that are counts."""

from trellis.workflow.labels import number


class Form(number.Form):
    """See the module."""

    bad = f"{number.Form.bad} OR label < 0 OR label != TRUNC(label)"
    words = f"{number.Form.words}, negative or no whole number"
