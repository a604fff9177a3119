import inspect

from trellis.workflow.stages.short_source import short


class Steps:
    def add(self, first, second):
        """A method
        of several lines.
        """
        return first + second


def test_a_functions_source_is_short():
    added = short(Steps().add)
    assert (added(1, 2), added.__name__) == (3, "add")
    assert len(inspect.getsource(added).splitlines()) == 2
