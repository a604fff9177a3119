"""Features by their names in the source, whatever identifiers the dataset has for them."""

import base64
import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.raw_tables import write_with_source
from tests.trainer.serving.images import image
from tests.wording import says
from trainer import dataset_description, models
from trainer.comparison import raw_examples, scoring
from trainer.serving.errors import InvalidRequestError
from trainer.serving.images import ImageInput
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.serving.rows import Field, RowReader
from trainer.training import saved_model
from trellis_contracts.hyperparameters import Hyperparameters

# By column of the dataset, the name in the source.
NAMES = {
    "Groe_cm": "Größe-cm",
    "column": "年龄",
    "a_b_50": "a&b = 50%",
    "label_2": "label",
    "key_2": "key",
    "split_2": "split",
    "ml_use_2": "ml_use",
    "Site": "Site",
}
ROWS = 40
LITERAL = re.compile(r"`(\"[^\"`]*\")`")


def columns(seed=0):
    random = np.random.default_rng(seed)
    numbers = {name: ("numeric", random.normal(size=ROWS).tolist()) for name in NAMES}
    sites = random.choice(["left", "right"], ROWS).tolist()
    return numbers | {"Site": ("categorical", sites)}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A dataset of these columns, with the rows that it was made of."""
    labels = [row % 2 for row in range(ROWS)]
    return write_with_source(
        tmp_path_factory.mktemp("odd") / "d",
        columns(),
        labels,
        {"train": [20], "validation": [8], "test": [12]},
        names=NAMES,
    )


@pytest.fixture(scope="module")
def folder(address, tmp_path_factory):
    dataset = dataset_description.load(address)
    keras.utils.set_random_seed(1)
    written = tmp_path_factory.mktemp("odd") / "model"
    saved_model.export(models.build("dense", dataset, Hyperparameters()), dataset, written)
    return written


@pytest.fixture(scope="module")
def model(folder):
    return Model.load(folder)


ROW = dict.fromkeys(NAMES.values(), 0.5) | {"Site": "left"}


def read(model, instance):
    return model.rows.read(json.dumps({"instances": [instance]}).encode()).instances


def refusal(model, instance):
    with pytest.raises(InvalidRequestError) as error:
        read(model, instance)
    return [str(violation) for violation in error.value.violations]


def test_a_request_has_the_names_of_the_source_in_any_case(model):
    shouted = {name.replace("ß", "ẞ").upper(): value for name, value in ROW.items()}
    inner = {column: ROW[name] for column, name in NAMES.items()}
    assert read(model, shouted) == read(model, inner) == read(model, ROW)


def test_an_explanation_names_features_as_the_source_does(model):
    (row,) = read(model, ROW)
    found = model.explainer.explain(row, 0, Explain())
    assert list(found["attributions"]) == list(NAMES.values())


def test_a_message_names_features_as_the_source_does(model):
    lacking = {name: value for name, value in ROW.items() if name != "年龄"}
    unknown, missing, wrong = refusal(model, lacking | {"Größe": 1, "a&b = 50%": "much"})
    assert says(unknown, "instances[0].Größe: ", "Größe-cm")
    assert says(missing, "instances[0].年龄: missing")
    assert says(wrong, "instances[0].a&b = 50%: ", "'much'")


def test_a_feature_is_given_once(model):
    for again in ("LABEL", "label_2"):
        (violation,) = refusal(model, ROW | {again: 1.0})
        assert says(violation, "instances[0].label: ", "twice", "label", again)


def test_examples_of_the_test_split_are_what_clients_send(model, address):
    dataset = dataset_description.load(address)
    (first, *_) = raw_examples.of_test_split(address, dataset)
    assert list(first.instance) == list(NAMES.values())
    assert read(model, first.instance)


def test_a_model_scores_another_dataset_by_the_names_of_the_source(folder, tmp_path):
    """Another choice of features gives the same column of the source another identifier."""
    renamed = {"label_3": "label", "c_2": "年龄"}
    others = {"label_2": "label_3", "column": "c_2"}
    moved = {others.get(name, name): column for name, column in columns(1).items()}
    names = {others.get(column, column): name for column, name in NAMES.items()} | renamed
    labels = [row % 2 for row in range(ROWS)]
    files = {"train": [20], "validation": [8], "test": [12]}
    same, other = (
        write_with_source(tmp_path / place, made, labels, files, names=named)
        for place, made, named in (("a", columns(1), NAMES), ("b", moved, names))
    )
    found = [
        scoring.score(str(folder), each, dataset_description.load(each)) for each in (same, other)
    ]
    np.testing.assert_array_equal(found[0].probabilities, found[1].probabilities)


def test_the_page_has_an_instance_that_is_read():
    """docs/how-to/serve.md: its example, and what its table says of each type."""
    page = (Path(__file__).parents[3] / "docs/how-to/serve.md").read_text()
    example, of_images = (
        part.partition("```")[0]
        for part in page.split("```json\n")
        if part.startswith('{"instances')
    )
    kinds = {"smoker": "boolean", "site": "categorical", "stage": "numeric"}
    kinds |= {"Größe-cm": "numeric", "taken": "timestamp", "pulse": "sequence"}
    reader = RowReader(
        [Field(f"c{n}", kinds[name], f"x{n}", 9, name) for n, name in enumerate(kinds)]
    )
    assert len(reader.read(example.encode()).instances) == 1
    photo = Field("photo", "image", "photo", 0, "photo", ImageInput((8, 8, 3)))
    others = [
        Field("age", "numeric", "age", 0, "age"),
        Field("site", "categorical", "site", 0, "site"),
    ]
    file = base64.b64encode(image(9)).decode()
    written = of_images.replace("/9j/4AAQ...", file).encode()
    by_file, by_address = RowReader([photo, *others]).read(written).instances
    assert by_file.values[0].data == image(9)
    assert str(by_address.values[0]).startswith("gs://")
    rows = [
        line.split("|")[1:3]
        for line in page.splitlines()
        if re.match(r"\| [A-Z0-9, ]+ ?.*\|", line)
    ]
    told = {
        types.strip(): json.loads(f"[{', '.join(LITERAL.findall(value))}]") for types, value in rows
    }
    numbers, days = (
        next(values for types, values in told.items() if types.startswith(type_))
        for type_ in ("INT64, FLOAT64", "DATE, DATETIME")
    )
    assert [Field("x", "numeric", "x", 0, "x").read(value) for value in numbers] == [99.5]
    assert [Field("x", "timestamp", "x", 0, "x").read(value) for value in days] == [
        1709164800_000000,
        1709204400_000000,
    ]


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, unique_by=str.lower))
def test_any_name_is_a_name(names):
    fields = [Field(f"_{n}_", "numeric", f"x{n}", 0, name) for n, name in enumerate(names)]
    body = {name: place for place, name in enumerate(names)}
    try:
        encoded = json.dumps({"instances": [body]}, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    (row,) = RowReader(fields).read(encoded).instances
    assert row.values == tuple(range(len(names)))
