import pytest

from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.yaml_file import parse


def test_values_lines_and_the_leading_comment():
    document = parse("f.yaml", "# One.\n# Two.\na: 1\nb:\n  c: [x, y]\n# not this\n")
    assert document.values == {"a": 1, "b": {"c": ["x", "y"]}}
    assert document.comment == "One.\nTwo."
    assert (document.line(("a",)), document.line(("b", "c"))) == (3, 5)


def test_a_field_that_is_missing_is_looked_for_in_its_section():
    document = parse("f.yaml", "a: 1\nb:\n  c: 2\n")
    assert document.line(("b", "d")) == 2
    assert document.line(("e",)) == 1


@pytest.mark.parametrize(
    ("text", "value"), [("1e-4", 1e-4), ("1E+3", 1000.0), ("-2.5e2", -250.0), (".5e1", 5.0)]
)
def test_numbers_as_people_write_them(text, value):
    assert parse("f.yaml", f"a: {text}").values == {"a": value}


def test_text_that_only_begins_like_a_number_stays_text():
    assert parse("f.yaml", "a: 1e-4x\nb: n1-standard-4").values == {
        "a": "1e-4x",
        "b": "n1-standard-4",
    }


def test_a_key_that_is_written_twice_is_a_problem():
    with pytest.raises(FileError, match=r"line 3, a: written twice, first on line 1"):
        parse("f.yaml", "a: 1\nb: 2\na: 3\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "line 2: not YAML"),
        ("a: 1\n b: 2\n", "line 2: not YAML"),
        ("just text", "line 1: expected `key: value` lines"),
        ("", "line 1: expected `key: value` lines"),
        ("[a]: 1\n", "line 1: a key must be a single word"),
    ],
)
def test_what_is_no_mapping_is_refused_with_its_line(text, message):
    with pytest.raises(FileError) as raised:
        parse("f.yaml", text)
    assert message in str(raised.value)
