import asyncio
import json
import threading

import pytest

from tests.trainer.serving.images import image, sent
from trainer import images
from trainer.serving import prediction_service as module
from trainer.serving.errors import (
    InvalidRequestError,
    NotReadyError,
    OverloadedError,
    TooLargeError,
    TooSlowError,
)
from trainer.serving.fetching import Fetcher
from trainer.serving.images import ImageInput
from trainer.serving.prediction_service import PredictionService
from trainer.serving.rows import Field, RowReader


class OwnSize(ImageInput):
    """Leaves images as large as they are."""

    def pixels(self, data):
        width, height = images.read_header(data).size
        return images.pixels(data, (height, width, 1))


class SlowModel:
    """Answers the number of an image's pixels once the gate is open; keeps its batches' sizes."""

    def __init__(self):
        self.rows = RowReader([Field("image", "image", "image", 0, "image", OwnSize((1, 1, 1)))])
        self.gate = threading.Event()
        self.batches = []

    def predict(self, rows):
        self.batches.append(len(rows))
        assert self.gate.wait(10)
        return [{"label": str(row.values[0].size)} for row in rows]


@pytest.fixture
def model():
    return SlowModel()


@pytest.fixture
def service(model):
    service = PredictionService(Fetcher())
    service.model = model
    return service


def request(*sizes):
    """The body of a request with an image of each size."""
    return json.dumps({"instances": [sent(image(9, size)) for size in sizes]}).encode()


async def stream(*chunks):
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


async def together(service, model, *bodies):
    """Send bodies at the same time; the model works when all have been taken in."""
    tasks = [asyncio.create_task(service.predict(stream(body), len(body))) for body in bodies]
    await asyncio.sleep(0.2)
    model.gate.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_concurrent_requests_share_a_batch_and_get_their_own_answers(service, model):
    sizes = [(1, n) for n in range(1, 31)]
    answers = asyncio.run(together(service, model, *map(request, sizes)))
    assert answers == [[{"label": str(n)}] for _, n in sizes]
    assert sum(model.batches) == 30
    # At most: the first request alone, then all that came meanwhile.
    assert len(model.batches) <= 2


def test_a_wrong_request_does_not_touch_the_others(service, model):
    good, wrong = request((2, 2), (3, 3)), request((2, 2)).replace(b"iVBO", b"iVBx")
    first, refused, last = asyncio.run(together(service, model, good, wrong, good))
    assert first == last == [{"label": "4"}, {"label": "9"}]
    assert isinstance(refused, InvalidRequestError)


def test_an_example_on_which_the_model_fails_harms_nobody_else(service, model):
    def fail_on_nine(rows):
        if any(row.values[0].size == 9 for row in rows):
            raise RuntimeError("of nine pixels")
        return [{"label": str(row.values[0].size)} for row in rows]

    waits, model.predict = model.predict, fail_on_nine
    model.predict = lambda rows: waits(rows) and fail_on_nine(rows)
    bodies = [request((2, 2))] + [request((1, 1), (3, 3)), request((2, 3))] * 5
    answers = asyncio.run(together(service, model, *bodies))
    assert max(model.batches) > 5, "they shared a batch"
    assert answers[0] == [{"label": "4"}]
    assert answers[2::2] == [[{"label": "6"}]] * 5
    assert [str(answer) for answer in answers[1::2]] == ["of nine pixels"] * 5


def test_images_of_any_kind_are_decoded_and_damaged_ones_named(service, model):
    files = [image(9), image(9, (3, 3), ".bmp"), image(9, (64, 64), ".bmp")[:-100]]
    model.gate.set()
    body = json.dumps({"instances": [sent(file) for file in files[:2]]}).encode()
    assert len(asyncio.run(service.predict(stream(body), len(body)))) == 2
    body = json.dumps({"instances": [sent(file) for file in files]}).encode()
    with pytest.raises(InvalidRequestError, match=r"instances\[2\]\.image: corrupt"):
        asyncio.run(service.predict(stream(body), len(body)))


def test_before_the_model_is_there():
    with pytest.raises(NotReadyError):
        asyncio.run(PredictionService(Fetcher()).predict(stream(request((1, 1))), 100))


def test_health_is_for_a_model_that_stays(service):
    assert service.is_healthy
    service.draining = True
    assert not service.is_healthy
    assert not PredictionService(Fetcher()).is_healthy


def test_as_many_bytes_as_memory_allows(service, model, monkeypatch):
    body = request((8, 8))
    monkeypatch.setattr(module, "MAX_HELD_BYTES", 2 * len(body))
    answers = asyncio.run(together(service, model, body, body, body))
    assert [isinstance(answer, OverloadedError) for answer in answers] == [False, False, True]
    assert asyncio.run(together(service, model, body)) == [[{"label": "64"}]]  # given back


@pytest.mark.parametrize("length", [None, 10**9])
def test_a_large_body_is_refused_whether_or_not_it_tells_its_length(service, length):
    read = []

    async def endless():
        for _ in range(100):
            read.append(1)
            yield bytes(1 << 20)

    with pytest.raises(TooLargeError, match="more than 10 MB"):
        asyncio.run(service.predict(endless(), length))
    assert len(read) == (11 if length is None else 0)


def test_a_body_that_never_ends(service, monkeypatch):
    monkeypatch.setattr(module, "BODY_TIMEOUT_SECONDS", 0.05)

    async def stalled():
        yield b'{"instances": ['
        await asyncio.sleep(10)

    with pytest.raises(TooSlowError):
        asyncio.run(service.predict(stalled(), 100))


def test_more_pixels_than_could_ever_wait(service, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING_COST", 1000)
    with pytest.raises(InvalidRequestError, match="megapixels in total"):
        asyncio.run(service.predict(stream(request((20, 20), (30, 30))), 100))


def each(*instances):
    return json.dumps({"instances": instances, "parameters": {"each": True}}).encode()


def test_an_instance_is_answered_by_itself_where_the_request_asks(service, model):
    model.gate.set()
    good, bad = sent(image(9, (1, 3))), {"image": {"b64": "AAAA"}}
    body = each(good, bad, 7, good)
    answers = asyncio.run(service.predict(stream(body), len(body)))
    assert [answers[0], answers[3]] == [{"label": "3"}] * 2
    assert "image" in answers[1]["error"]
    assert "instances[0]" not in answers[1]["error"]
    assert "expected" in answers[2]["error"]
    plain = json.dumps({"instances": [good, bad]}).encode()
    with pytest.raises(InvalidRequestError):
        asyncio.run(service.predict(stream(plain), len(plain)))


@pytest.mark.parametrize(
    ("parameters", "field"),
    [({"each": 1}, "parameters.each"), ({"each": True, "x": 1}, "parameters.x")],
)
def test_a_parameter_that_is_not_understood_is_refused_or_said_of_each(
    service, model, parameters, field
):
    model.gate.set()
    body = json.dumps({"instances": [sent(image(9, (1, 2)))], "parameters": parameters}).encode()
    try:
        (answer,) = asyncio.run(service.predict(stream(body), len(body)))
    except InvalidRequestError as error:
        answer = {"error": str(error)}
    assert field in answer["error"]


def test_each_of_a_request_that_has_too_many_instances_is_refused_as_a_whole(service, model):
    model.gate.set()
    body = each(*[1] * 300)
    with pytest.raises(InvalidRequestError, match="1 to 256"):
        asyncio.run(service.predict(stream(body), len(body)))
