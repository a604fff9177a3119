"""Vertex AI's error for invalid fields, as a client gets it."""

from google.rpc import error_details_pb2, status_pb2

from local_gcp.field_errors import invalid_field, invalid_fields


def test_the_message_lists_all_fields_and_ends_each_with_a_tab():
    error = invalid_fields(("model_id", "Bad."), ("model.labels", "Too many."))
    assert (
        error.message == "List of found errors:\t1.Field: model_id; Message: Bad.\t"
        "2.Field: model.labels; Message: Too many.\t"
    )
    assert error.code.name == "INVALID_ARGUMENT"


def sent(error):
    """The BadRequest in the details that a client gets."""
    details = dict(error.status().trailing_metadata)["grpc-status-details-bin"]
    found = error_details_pb2.BadRequest()
    assert status_pb2.Status.FromString(details).details[0].Unpack(found)
    return [(violation.field, violation.description) for violation in found.field_violations]


def test_the_details_have_each_field_with_its_message():
    errors = ("model_id", "Bad."), ("model.labels", "Too many.")
    assert sent(invalid_fields(*errors)) == list(errors)


def test_a_long_message_is_shortened_in_the_details_too():
    ((field, description),) = sent(invalid_field("name", "ü" * 5000))
    assert field == "name"
    assert set(description) == {"ü"}
    assert 100 < len(description) < 1000
