from airflow.utils.code_utils import get_python_source

from trellis.workflow.stages.unread import unread


class Steps:
    def add(self, first, second):
        return first + second


def twice(number):
    return 2 * number


def test_a_function_is_called_and_has_no_source_to_store():
    for called, arguments, result in ((unread(Steps().add), (1, 2), 3), (unread(twice), (4,), 8)):
        assert called(*arguments) == result
        assert get_python_source(called) == "No source code available for <class 'method-wrapper'>"
