"""Labels that are sets of names."""

from trellis.workflow.labels import form


class Form(form.LabelForm):
    """See the module."""

    bad, words = "label IS NULL", "NULL"  # an empty text is the empty set
