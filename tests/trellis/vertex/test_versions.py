import pytest

from trellis.vertex.versions import parse_model, parse_version

NAME = "projects/lab/locations/us-central1/models/cells@3"


def test_a_name_is_its_parts():
    version = parse_version(NAME)
    assert version.name == NAME
    assert (version.id, version.version) == ("cells", "3")
    assert version.model == parse_model(NAME.partition("@")[0]).model


def test_google_answers_with_the_number_of_the_project():
    ours = parse_version(NAME)
    assert ours.is_the_same_as(parse_version(NAME.replace("lab", "123456")))
    assert not ours.is_the_same_as(parse_version(NAME.replace("lab", "other")))
    assert not ours.is_the_same_as(parse_version(NAME.replace("@3", "@4")))
    assert not ours.is_the_same_as(parse_version(NAME.replace("us-central1", "europe-west4")))


@pytest.mark.parametrize("name", ["cells@3", NAME + "/x", NAME.replace("@3", "@champion"), None])
def test_what_names_no_model_is_refused_with_the_form(name):
    with pytest.raises(ValueError, match="projects/PROJECT/locations/REGION/models/ID"):
        parse_model(name)


def test_a_version_is_asked_for():
    with pytest.raises(ValueError, match="add @VERSION"):
        parse_version(NAME.partition("@")[0])
