import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.serving import strict_json
from trainer.serving.errors import InvalidRequestError
from trainer.serving.instances import unwrap
from trainer.serving.parameters import options

OF_ROWS = options(columns=True, images=False)


def told(body):
    """Return the error of a request to a model with the fields size and site."""
    with pytest.raises(InvalidRequestError) as refused:
        unwrap(body, "{...}", OF_ROWS)
    return str(refused.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"instances": [{"size": 1}, {"size": NaN}]}',
            "instances[1].size: NaN is not a JSON",
        ),
        (b'{"instances": [{"size": [0, -Infinity]}]}', "instances[0].size[1]: -Infinity is no"),
        (
            b'{"instances": [{"size": 1}], "parameters": NaN}',
            "parameters: NaN is not a JSON",
        ),
        (b"NaN", "body: NaN is not a JSON"),
        (b'{"instances": [NaN', "body: not JSON"),
        (b"[" * 500_000, "body: not JSON"),
        (b'{"instances": [{"size": 1}, {"size": 1, "size": 2}]}', "instances[1].size: given twice"),
        (b'{"instances": [{"size": {"b64": 1, "b64": 1, "size": 1}}]}', "instances[0].size.b64: g"),
        (b'{"instances": [1], "instances": [2]}', "instances: given twice"),
    ],
)
def test_the_field_is_named(body, words):
    assert words in told(body)


def test_a_value_that_reads_like_a_field_is_none():
    rows = [{"site": 'a "size": 2', "size": 1}, {"site": "size", "size": 2}, "size"]
    assert unwrap(orjson.dumps({"instances": rows}), "", OF_ROWS).instances == rows


def test_what_is_too_deep_for_python_is_left_to_the_reader_of_instances():
    deep = b"[" * 1000 + b'{"size": 1}' + b"]" * 1000
    (instance,) = unwrap(b'{"instances": [%s]}' % deep, "", OF_ROWS).instances
    assert isinstance(instance, list)


def test_an_object_of_very_many_fields():
    # Were each field compared with all others, this would take ten minutes.
    fields = ", ".join(f'"{number}": 0' for number in range(100_000))
    assert told(b'{"instances": [{%s, "99999": 0}]}' % fields.encode()) == (
        "instances[0].99999: given twice"
    )


@given(st.lists(st.lists(st.sampled_from("abc"))), st.sampled_from(["", " ", "\n"]))
def test_nothing_that_is_given_twice_is_missed(instances, space):
    written = [",".join(f'"{name}":{space}0' for name in names) for names in instances]
    body = f'{{"instances":[{",".join(f"{{{one}}}" for one in written)}]}}'.encode()
    twice = [place for place, names in enumerate(instances) if len(set(names)) < len(names)]
    assert strict_json.may_repeat(body, orjson.loads(body)) == bool(twice)
    found = [violation.field.partition(".")[0] for violation in strict_json.repeated(body)]
    assert found == [f"instances[{place}]" for place in twice]
