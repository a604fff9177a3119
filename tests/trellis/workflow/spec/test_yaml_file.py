import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.wording import says
from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.yaml_file import parse, read


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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_an_encoding_of_two_or_four_bytes_is_named(tmp_path, encoding):
    file = tmp_path / "f.yaml"
    file.write_bytes("owner: lab\nmodel: dense\n".encode(encoding))
    with pytest.raises(FileError) as raised:
        read(file)
    (problem,) = raised.value.problems
    assert problem.line == 1
    assert f"the file is {encoding[:6].upper()}" in problem.message


@pytest.mark.parametrize("character", ["`", "@", "%"])
def test_a_character_that_begins_no_value_is_shown_with_its_place(character):
    said = refusal(f"a: 1\nlabel: {character}b{character}\n")
    assert "line 2: not YAML" in said
    assert "column 8" in said
    assert f"({character})" in said


@pytest.mark.parametrize("character", ["\u200b", "\u2060", "\xad", "\u202e", "\u2067", "\u200e"])
@pytest.mark.parametrize("text", ["a{}b: 1", "ab: ma{}lignant", 'ab: "x{}"'])
def test_a_character_without_width_is_refused_unless_its_escape_shows_it(character, text):
    said = refusal("# a comment: " + character + "\n" + text.format(character))
    assert "line 2" in said
    assert f"U+{ord(character):04X}" in said
    escape = f"\\u{ord(character):04x}"
    assert escape in said
    assert parse("f.yaml", f'ab: "x{escape}"').values == {"ab": f"x{character}"}


def test_characters_that_join_letters_are_text():
    text = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert parse("f.yaml", f"a: {text}").values == {"a": text}


def refusal(text):
    with pytest.raises(FileError) as raised:
        parse("f.yaml", text)
    return str(raised.value)


WORDS = st.one_of(
    st.from_regex(r"[-+]?[0-9_:.]{1,6}([eE][-+]?[0-9]{1,2})?", fullmatch=True).filter(
        lambda word: not word.endswith(":")  # a key
    ),
    st.from_regex(r"[-+]?0[xob]?[0-9a-fA-F_]{1,4}", fullmatch=True),
    st.sampled_from(["y", "n", "yes", "No", "ON", "off", "true", "True", "TRUE", "null", "Null"]),
    st.sampled_from(["~", "=", ".inf", "-.INF", ".NaN"]),
    st.dates().map(str),
    st.datetimes().map(str),
)


def as_ruamel_reads(word):
    """By a YAML 1.2 parser that is not ours."""
    return YAML(typ="safe", pure=True).load(f"a: {word}")["a"]


@given(WORDS)
def test_a_word_is_read_as_version_1_2_does_or_refused_with_quotes(word):
    try:
        value = parse("f.yaml", f"a: {word}").values["a"]
    except FileError as error:
        (problem,) = error.problems
        assert (problem.line, problem.field) == (1, ("a",))
        assert word[:10] in problem.message
        if not re.match(r"[-+]?0|.*_", word):
            # Only what versions differ in, or what no field takes.
            old, new = yaml.safe_load(f"a: {word}")["a"], as_ruamel_reads(word)
            assert old != new or isinstance(new, float)
        return
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*", word):
        assert value == word  # ruamel has kept version 1.1's dates
    elif not isinstance(value, str):
        # ruamel leaves some of the schema's numbers, such as .0E0, as text.
        assert value == as_ruamel_reads(word) or value == float(word)
        assert not isinstance(value, float) or math.isfinite(value)
    else:
        assert value == word


@pytest.mark.parametrize("word", ["yes", "no", "On", "off", "y", "N", "=", "2024-02-30", "1:30 h"])
def test_words_are_text(word):
    assert parse("f.yaml", f"a: {word}").values == {"a": word}


@pytest.mark.parametrize(
    "word", ["010", "-012", "08", "0o10", "0b11", "1:30", "190:20:30.15", "1_000", "1_0.5", "0x_1"]
)
def test_numbers_of_which_the_versions_differ_are_refused(word):
    said = refusal(f"b: 1\na: {word}\n")
    assert says(said, "line 2, a: ", "YAML", f"{word} differently")
    assert f'"{word}" in quotes' in said
    assert parse("f.yaml", f'a: "{word}"').values == {"a": word}


@pytest.mark.parametrize("word", [".inf", "-.INF", ".nan", "1e999", "9" * 30, "-" + "9" * 400])
def test_numbers_that_nothing_can_count_with_are_refused(word):
    assert "line 1, a: " in refusal(f"a: {word}")


def test_names_of_keys_are_as_they_are_written():
    text = "{yes: 1, no: 2, 010: 3, 1: 4, 1.0: 5, true: 6, null: 7, 1:30: 8}"
    names = ["yes", "no", "010", "1", "1.0", "true", "null", "1:30"]
    assert list(parse("f.yaml", f"a: {text}").values["a"]) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !env USER", "line 1: the tag !env"),
        ("a: !!str 5", "line 1: the tag !!str"),
        ("a: 1\nb:\n  <<: 2", "line 3, b: <<: YAML 1.2 merges no keys"),
        ("a: &x [*x]", "line 1: *x: no value before this one is marked &x"),
        ("a: *x", "line 1: *x"),
        ("a: 1\n---\nb: 1", "line 2: a second document"),
        ("%YAML 1.1\n---\na: 1", "leave the line %YAML out"),
        ("# pasted\x0b\na: 1", "line 1: U+000B (a control character) at column 9"),
        ("a: 1\nb: x\u2028y", "line 2: U+2028 (line separator) at column 5"),
        ('a: "x\\0y"', "line 1, a: has U+0000"),
        ("a:\n\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}b: [1\nc: 1", "line 2, column 1, is no space"),
        ("a: " + "[" * 100_000, "line 1: more than 32 sections in one another"),
        ("a: " + "{b: " * 5000, "line 1: more than 32 sections in one another"),
        ('1: 1\n"1": 2', "line 2, 1: written twice, first on line 1"),
    ],
)
def test_what_no_file_has_a_use_for_is_refused_with_its_line(text, message):
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a: {from: 0,001, to: 0,1}", {"a.from": "0.001", "a.to": "0.1"}),
        ("a: {b: 12,50}", {"a.b": "12.50"}),
        ("a: {b: -0,5e-3, c: 1}", {"a.b": "-0.5e-3"}),
        ("a: {b: 1, c: 2,5}\nd: 3", {"a.c": "2.5"}),
    ],
)
def test_a_decimal_comma_is_no_second_key(text, places):
    with pytest.raises(FileError) as raised:
        parse("f.yaml", text)
    found = {".".join(p.field): p.message.split()[-1] for p in raised.value.problems}
    assert found == places


@pytest.mark.parametrize("text", ["a: {1: 2, 3: 4}", "a: {b: x, 5}", "a:\n  b: 0\n  5:\n"])
def test_a_key_that_is_a_number_is_no_decimal(text):
    parse("f.yaml", text)


def test_an_alias_means_the_value_that_it_repeats():
    document = parse("f.yaml", "a: &x {b: 1}\nc: *x\n")
    assert document.values == {"a": {"b": 1}, "c": {"b": 1}}


def test_aliases_of_aliases_are_counted():
    layers = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "more than 20,000 values" in refusal("\n".join(["l0: &l0 x", *layers]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: M\xfcller", "line 2: byte 0xfc: the file is no UTF-8; save it as UTF-8"),
        ("a: 1".encode("utf-16"), "line 1: byte 0xff: the file is UTF-16; save it as UTF-8"),
        (b"#" * 2_000_000, "has 2,000,000 bytes; expected up to 1 MiB"),
    ],
)
def test_files_of_other_encodings_are_refused(tmp_path, content, message):
    (tmp_path / "f.yaml").write_bytes(content)
    with pytest.raises(FileError, match=message):
        read(tmp_path / "f.yaml")


@pytest.mark.parametrize("lines", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_files_of_other_systems_are_read(tmp_path, lines, mark):
    (tmp_path / "f.yaml").write_bytes((mark + lines.join(["# One.", "a: 1", "b: 2"])).encode())
    document = read(tmp_path / "f.yaml")
    assert (document.values, document.comment) == ({"a": 1, "b": 2}, "One.")
    assert document.line(("b",)) == 3
