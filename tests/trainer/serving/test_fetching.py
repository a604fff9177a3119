"""Images in buckets, read with Google's client from a local_gcp."""

import asyncio

import pytest
from google.api_core import exceptions

from tests.trainer.serving.images import image
from trainer.images import ImageError
from trainer.serving import cloud_storage, fetching
from trainer.serving.cloud_storage import CloudStorage, ObjectError
from trainer.serving.errors import StorageUnavailableError
from trainer.serving.fetching import Fetcher
from trainer.serving.image_values import ImageAddress
from trainer.serving.images import EncodedImage

BUCKET = "serving-images"


@pytest.fixture
def bucket(local_gcp, monkeypatch):
    for name, value in local_gcp.client_env.items():
        monkeypatch.setenv(name, value)
    folder = local_gcp.buckets / BUCKET
    folder.mkdir(exist_ok=True)
    for value in range(5):
        (folder / f"{value}.png").write_bytes(image(value))
    (folder / "text.jpg").write_bytes(b"no image at all")
    (folder / "empty.png").write_bytes(b"")
    return folder


def fetch(*names, bucket=BUCKET):
    return asyncio.run(Fetcher().fetch([ImageAddress(bucket, name) for name in names]))


def test_images_come_in_the_order_of_their_addresses(bucket):
    found = fetch(*(f"{value}.png" for value in range(5)))
    assert found == [EncodedImage(image(value), 64) for value in range(5)]


def test_each_address_gets_its_own_reason(bucket):
    good, missing, text, empty = fetch("1.png", "missing.png", "text.jpg", "empty.png")
    assert good.data == image(1)
    assert f"gs://{BUCKET}/missing.png" in str(missing)
    assert "not an image" in str(text)
    assert str(empty) == "the file is empty"


@pytest.mark.parametrize(
    ("prefixes", "read"),
    [(["gs://serving-images/"], True), (["gs://a/", "gs://serving-images/"], True),
     (["gs://serving-images/cats/"], False), (["gs://serving-image/"], False)],
)  # fmt: skip
def test_images_are_read_below_the_prefixes_alone(bucket, prefixes, read):
    fetcher = Fetcher(prefixes)
    (found,) = asyncio.run(fetcher.fetch([ImageAddress(BUCKET, "1.png")]))
    assert isinstance(found, EncodedImage) is read
    if not read:
        assert all(prefix in str(found) for prefix in prefixes)


def test_an_image_of_others_and_one_that_is_not_there_give_the_same_message(local_gcp):
    """Else a caller could find out which objects others own. 403 and 404 are Google's answers."""

    def refusal(error):
        class Client:
            def bucket(self, name):
                return self

            def blob(self, name):
                return self

            def download_as_bytes(self, **_):
                raise error("...")

        storage = CloudStorage.__new__(CloudStorage)
        storage._client = Client()
        with pytest.raises(ObjectError) as raised:
            storage.read("others", "scan.png", 10)
        return str(raised.value)

    assert refusal(exceptions.NotFound) == refusal(exceptions.Forbidden)


def test_a_bucket_that_does_not_exist(bucket):
    (missing,) = fetch("1.png", bucket="serving-nowhere")
    assert isinstance(missing, ImageError)


def test_an_object_that_is_too_large_is_not_read_to_its_end(bucket):
    (bucket / "large.png").write_bytes(bytes(3000))
    storage = CloudStorage()
    assert storage.read(BUCKET, "large.png", 3000) == bytes(3000)
    with pytest.raises(ObjectError, match="more than"):
        storage.read(BUCKET, "large.png", 2999)


def test_the_images_of_a_request_have_a_bound_together(bucket, monkeypatch):
    largest = max(len(image(value)) for value in range(4))
    monkeypatch.setattr(fetching, "MAX_FETCHED_BYTES", 2 * largest)
    found = fetch("0.png", "1.png", "2.png", "3.png")
    assert sum(isinstance(one, EncodedImage) for one in found) == 2
    assert sum(isinstance(one, ImageError) for one in found) == 2


def test_storage_that_does_not_answer(bucket, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr(cloud_storage, "_RETRY", cloud_storage._RETRY.with_timeout(0.1))
    with pytest.raises(StorageUnavailableError):
        fetch("1.png")
