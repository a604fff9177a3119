"""The way of a prediction request: body -> instances -> batch -> model -> predictions."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from trainer.serving import instances
from trainer.serving.batching import Batcher, Bound
from trainer.serving.errors import (
    InvalidRequestError,
    NotReadyError,
    OverloadedError,
    TooLargeError,
    TooSlowError,
    Violation,
)
from trainer.serving.fetching import Fetcher
from trainer.serving.images import EncodedImage, ImageError
from trainer.serving.instances import ImageAddress
from trainer.serving.limits import (
    BODY_TIMEOUT_SECONDS,
    MAX_BATCH,
    MAX_BATCH_COST,
    MAX_BODY_BYTES,
    MAX_FETCHED_BYTES,
    MAX_HELD_BYTES,
    MAX_WAITING,
    MAX_WAITING_COST,
)
from trainer.serving.rows import Row, RowReader

_log = logging.getLogger(__name__)

# Reading requests and decoding unusual images is work: more threads than cores would take turns.
_WORKERS = os.cpu_count() or 1

Prediction = dict[str, Any]
Example = EncodedImage | Row


class Predictor(Protocol):
    """What the service needs of trainer.serving.model.Model."""

    rows: RowReader | None

    def predict(self, examples: Sequence[Example]) -> list[Prediction | Exception]:
        """A prediction for each example; an ImageError for an image that cannot be decoded."""


class Service:
    """Predictions of one model, once there is one."""

    def __init__(self, fetcher: Fetcher):
        self.model: Predictor | None = None
        self.draining = False
        self.last_request = 0.0  # when one came last, in the event loop's time
        self._held = 0  # bytes
        self._fetcher = fetcher
        self._workers = ThreadPoolExecutor(_WORKERS, "work")
        self._batcher: Batcher[Example, Prediction] = Batcher(
            self._run,
            lambda example: example.cost,
            batch=Bound(MAX_BATCH, MAX_BATCH_COST),
            waiting=Bound(MAX_WAITING, MAX_WAITING_COST),
        )

    @property
    def is_healthy(self) -> bool:
        """Whether requests should be sent here."""
        return self.model is not None and not self.draining

    async def predict(self, body: AsyncIterator[bytes], length: int | None) -> list[Prediction]:
        """Answer one request: in full, or not at all. Raises ServingError.

        length: bytes of the body, if known.
        """
        self.last_request = asyncio.get_running_loop().time()
        if self.model is None:
            raise NotReadyError("the model is being loaded")
        # Asked for before the body is read: what is refused costs no memory.
        with self._holding(MAX_BODY_BYTES if length is None else length):
            return await self._answer(await _collect(body))

    async def _answer(self, body: bytes) -> list[Prediction]:
        loop = asyncio.get_running_loop()
        if self.model.rows:
            rows = await loop.run_in_executor(self._workers, self.model.rows.read, body)
            return await self._predict(rows, rows)
        asked = await loop.run_in_executor(self._workers, instances.read, body)
        addresses = [instance for instance in asked if isinstance(instance, ImageAddress)]
        if not addresses:
            return await self._predict(asked, asked)
        with self._holding(MAX_FETCHED_BYTES):
            found = iter(await self._fetcher.fetch(addresses))
            images = [next(found) if isinstance(i, ImageAddress) else i for i in asked]
            instances.check(asked, images)
            return await self._predict(asked, images)

    async def _predict(
        self, asked: Sequence[Example | ImageAddress], examples: Sequence[Example]
    ) -> list[Prediction]:
        cost = sum(example.cost for example in examples)
        if cost > MAX_WAITING_COST:  # it would never be accepted
            reason = (
                f"the images have {cost / 1e6:.0f} megapixels together, of which "
                f"{MAX_WAITING_COST / 1e6:.0f} are taken in one request; an image that is rotated, "
                "transparent, or neither JPEG nor PNG counts eight times"
            )
            raise InvalidRequestError([Violation("instances", reason)])
        predictions = await self._batcher.submit(examples)
        instances.check(asked, predictions)
        return predictions

    def _run(self, examples: Sequence[Example]) -> list[Prediction | Exception]:
        """A batch, in the batcher's thread. One that fails is done again one by one: an example on
        which the model fails must not take the requests with it that came at the same time."""
        run = self.model.predict if self.model.rows else self._run_images
        try:
            return run(examples)
        except Exception as error:
            if len(examples) == 1:
                return [error]
            _log.warning("a batch of %d failed, done again one by one: %s", len(examples), error)
        return [self._run([example])[0] for example in examples]

    def _run_images(self, images: Sequence[EncodedImage]) -> list[Prediction | Exception]:
        if not all(image.is_plain for image in images):
            images = list(self._workers.map(_as_plain, images))
        good = [image for image in images if isinstance(image, EncodedImage)]
        predictions = iter(self.model.predict(good) if good else ())
        return [next(predictions) if isinstance(image, EncodedImage) else image for image in images]

    @contextmanager
    def _holding(self, count: int) -> Iterator[None]:
        if count > MAX_BODY_BYTES:
            raise _too_large()
        if self._held + count > MAX_HELD_BYTES:
            raise OverloadedError(f"the requests being answered have {self._held >> 20} MB already")
        self._held += count
        try:
            yield
        finally:
            self._held -= count


def _as_plain(image: EncodedImage) -> EncodedImage | ImageError:
    try:
        return image.as_plain()
    except ImageError as error:
        return error


async def _collect(body: AsyncIterator[bytes]) -> bytes:
    collected = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            async for chunk in body:
                collected += chunk
                if len(collected) > MAX_BODY_BYTES:
                    raise _too_large()
    except TimeoutError as error:
        raise TooSlowError(
            f"the body did not arrive within {BODY_TIMEOUT_SECONDS} seconds"
        ) from error
    return bytes(collected)


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"the request has more than {MAX_BODY_BYTES >> 20} MB, Vertex AI's own limit: send fewer "
        "or smaller images, or their gs:// addresses"
    )
