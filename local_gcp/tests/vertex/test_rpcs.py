"""No message is answered INTERNAL: each method of Vertex AI gets many wrong ones."""

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_gcp.wire import method_table

IN = "projects/local-gcp/locations/us-central1"
NAMES = ["models/m", "models/m@1", "endpoints/1", "customJobs/1"]
LIKELY = ["", "x", "-", "gs://no/a", "bq://a.b.c", "n1-standard-4", "a=b", "labels.x=1", "é" * 200]
TEXTS = st.sampled_from([*LIKELY, IN, *(f"{IN}/{name}" for name in NAMES)]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=5
)
PACKAGE = "google.cloud.aiplatform_v1.services"
SERVICES = ("dataset", "endpoint", "job", "model", "pipeline", "prediction")
METHODS = {
    path: request
    for service in SERVICES
    for path, (request, _) in method_table(f"{PACKAGE}.{service}_service").items()
    if ".aiplatform." in path and "Stream" not in path
}
VALUES = {
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=5),
    FieldDescriptor.TYPE_STRING: TEXTS,
}


@st.composite
def filled(draw, message, depth=0):
    """The message with some of its fields set."""
    fields = list(message.DESCRIPTOR.fields)
    chosen = draw(st.lists(st.sampled_from(fields), max_size=6, unique=True)) if fields else []
    # Most requests reach what is below their parent.
    if depth == 0 and "parent" in message.DESCRIPTOR.fields_by_name and draw(st.integers(0, 9)):
        message.parent = IN
        chosen = [field for field in fields if field.name != "parent"]
    for field in chosen:
        repeated = field.is_repeated
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if depth > 3 or field.message_type.GetOptions().map_entry:
                continue
            value = getattr(message, field.name)
            draw(filled(value.add() if repeated else value, depth + 1))
            if not repeated:
                value.SetInParent()
            continue
        kind = VALUES.get(field.type, st.integers(0, 3))
        value = draw(kind)
        if repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    return message


@pytest.mark.slow
@pytest.mark.parametrize("path", METHODS)
def test_no_message_is_answered_internal(vertex, path):
    request = METHODS[path]
    pb = request.pb() if hasattr(request, "pb") else request
    call = vertex.channel.unary_unary(path, lambda m: m.SerializeToString(), lambda b: b)

    @settings(
        max_examples=50,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data):
        message = data.draw(filled(pb()))
        answer = call.future(message, timeout=20)
        wrong = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
        assert answer.code() not in wrong, (message, answer.details())

    ask()
