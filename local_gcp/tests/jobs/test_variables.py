"""$(NAME), as in Kubernetes."""

from hypothesis import given
from hypothesis import strategies as st

from local_gcp.jobs.variables import environment, expand


def test_defined_names_are_replaced_and_others_left_alone():
    assert expand("--dir=$(DIR)/x $(NO) $DIR ${DIR}", {"DIR": "d"}) == "--dir=d/x $(NO) $DIR ${DIR}"


def test_two_dollars_stand_for_one():
    assert expand("$$(DIR) $$", {"DIR": "d"}) == "$(DIR) $"


def test_a_variable_may_refer_to_those_before_it_and_to_the_services():
    own = {"A": "$(AIP_MODEL_DIR)a", "B": "$(A)b", "C": "$(D)", "D": "d"}
    assert environment({"AIP_MODEL_DIR": "gs://m/"}, own) == {
        "AIP_MODEL_DIR": "gs://m/",
        "A": "gs://m/a",
        "B": "gs://m/ab",
        "C": "$(D)",
        "D": "d",
    }


def test_what_is_inserted_is_not_expanded_again():
    assert expand("$(A)", {"A": "$(B)", "B": "b"}) == "$(B)"


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_text_without_a_dollar_is_untouched(text):
    assert expand(text, {"A": "b"}) == text


def test_the_python_path_of_a_job_comes_before_the_services():
    hook = {"PYTHONPATH": "/hook"}
    assert environment(hook, {})["PYTHONPATH"] == "/hook"
    assert environment(hook, {"PYTHONPATH": "/app"})["PYTHONPATH"] == "/app:/hook"
    assert "PYTHONPATH" not in environment({}, {})
