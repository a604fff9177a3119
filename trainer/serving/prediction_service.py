"""The path of a prediction request: body -> instances -> batch -> model -> predictions.

Explanations are made in a thread of their own, one example at a time, so that no prediction waits
for them.
"""

import asyncio
import functools
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np

from trainer.images import ImageError
from trainer.serving import explaining, instances
from trainer.serving.batching import Batcher, Bound
from trainer.serving.errors import (
    InvalidRequestError,
    NotReadyError,
    OverloadedError,
    ServingError,
    TooLargeError,
    TooSlowError,
    Violation,
)
from trainer.serving.explaining import Unexplained
from trainer.serving.explanations import Explainer
from trainer.serving.fetching import Fetcher
from trainer.serving.images import EncodedImage
from trainer.serving.instances import ImageAddress
from trainer.serving.limits import (
    BODY_TIMEOUT_SECONDS,
    MAX_BATCH,
    MAX_BATCH_COST,
    MAX_BODY_BYTES,
    MAX_EXPLAINING_COST,
    MAX_FETCHED_BYTES,
    MAX_HELD_BYTES,
    MAX_WAITING,
    MAX_WAITING_COST,
)
from trainer.serving.parameters import Request
from trainer.serving.rows import Row, RowReader

_log = logging.getLogger(__name__)

# Reading requests and decoding images is CPU-bound: more threads than cores do not help.
_WORKERS = os.cpu_count() or 1

# Bytes. Reading a body of rows or of images this small takes no longer (0.2 ms) than handing it to
# a thread.
_ROWS_READ_AT_ONCE = 4 << 10
_IMAGES_READ_AT_ONCE = 32 << 10

# Instances of a request that are answered by themselves: each may hold MAX_FETCHED_BYTES.
_AT_ONCE = 16

Asked = TypeVar("Asked")
Prediction = dict[str, Any]
Example = EncodedImage | Row


class Predictor(Protocol):
    """The part of trainer.serving.model.Model that the service uses."""

    rows: RowReader | None
    classes: list[str]
    explainer: Explainer | None

    def pixels(self, data: bytes) -> np.ndarray:
        """Return the pixels of a file that a model of images sees. Raises ImageError."""

    def predict(self, examples: Sequence[Any]) -> list[Prediction | Exception]:
        """A prediction for each row, or for each image's pixels."""


class PredictionService:
    """Predictions of one model, once it is loaded."""

    def __init__(self, fetcher: Fetcher):
        self.model: Predictor | None = None
        self.draining = False
        self.last_request = 0.0  # arrival of the last one, in the event loop's time
        self._held = 0  # bytes
        self._fetcher = fetcher
        self._workers = ThreadPoolExecutor(_WORKERS, "work")
        self._batcher: Batcher[Example, Prediction] = Batcher(
            self._run,
            lambda example: example.cost,
            batch=Bound(MAX_BATCH, MAX_BATCH_COST),
            waiting=Bound(MAX_WAITING, MAX_WAITING_COST),
        )
        self._explainer: Batcher[Unexplained, dict[str, Any]] = Batcher(
            lambda waiting: [unexplained.explain() for unexplained in waiting],
            lambda unexplained: unexplained.cost,
            batch=Bound(1, MAX_EXPLAINING_COST),
            waiting=Bound(MAX_WAITING, MAX_EXPLAINING_COST),
        )

    @property
    def is_healthy(self) -> bool:
        """True if requests should be sent here."""
        return self.model is not None and not self.draining

    async def predict(self, body: AsyncIterator[bytes], length: int | None) -> list[Prediction]:
        """Answer one request completely or not at all; with the parameter `each`, each instance
        by itself. Raises ServingError.

        length: bytes of the body, if known.
        """
        self.last_request = asyncio.get_running_loop().time()
        model = self._loaded()
        # Checked before the body is read: a refused request costs no memory.
        with self._holding(MAX_BODY_BYTES if length is None else length):
            collected = await _collect(body)
            apart = instances.apart(collected)
            if apart is None:
                return await self._answer(model, collected)
            return await self._answer_each(model, apart)

    async def _answer_each(self, model: Predictor, bodies: Sequence[bytes]) -> list[Prediction]:
        """Answer requests of one instance each; {"error": MESSAGE} for one that is refused.

        Raises a ServingError that another attempt may not meet.
        """
        few = asyncio.Semaphore(_AT_ONCE)

        async def answer(body: bytes) -> Prediction:
            async with few:
                try:
                    (prediction,) = await self._answer(model, body)
                except ServingError as error:
                    if error.retry_after is not None:
                        raise
                    return {"error": str(error).replace("instances[0].", "")}
                except Exception as error:
                    _log.exception("the model fails on an instance")
                    return {"error": f"the model fails on this instance: {error}"}
            return prediction

        answers = await asyncio.gather(*map(answer, bodies), return_exceptions=True)
        for found in answers:
            if isinstance(found, BaseException):
                raise found
        return [found for found in answers if not isinstance(found, BaseException)]

    def _loaded(self) -> Predictor:
        if self.model is None:
            raise NotReadyError("the model is still loading")
        return self.model

    async def _answer(self, model: Predictor, body: bytes) -> list[Prediction]:
        if model.rows:
            rows = await self._read(model.rows.read, body, _ROWS_READ_AT_ONCE)
            return await self._predict(model, rows, rows.instances)
        request = await self._read(instances.read, body, _IMAGES_READ_AT_ONCE)
        requested = request.instances
        addresses = [instance for instance in requested if isinstance(instance, ImageAddress)]
        images = [instance for instance in requested if isinstance(instance, EncodedImage)]
        if not addresses:
            return await self._predict(model, request, images)
        with self._holding(MAX_FETCHED_BYTES):
            found = iter(await self._fetcher.fetch(addresses))
            outcomes = [next(found) if isinstance(i, ImageAddress) else i for i in requested]
            return await self._predict(model, request, instances.checked(requested, outcomes))

    async def _read(
        self, read: Callable[[bytes], Request[Asked]], body: bytes, at_once: int
    ) -> Request[Asked]:
        if len(body) <= at_once:
            return read(body)
        return await asyncio.get_running_loop().run_in_executor(self._workers, read, body)

    async def _predict(
        self, model: Predictor, request: Request[Any], examples: Sequence[Example]
    ) -> list[Prediction]:
        """examples: what the request's instances became."""
        cost = sum(example.cost for example in examples)
        if cost > MAX_WAITING_COST:  # the queue could never accept it
            reason = (
                f"the images have {cost / 1e6:.0f} megapixels in total, and one request may have "
                f"{MAX_WAITING_COST / 1e6:.0f}"
            )
            raise InvalidRequestError([Violation("instances", reason)])
        requested, how = request.instances, request.explain
        if how:
            explaining.check(model, how, examples)
        predictions = instances.checked(requested, await self._batcher.submit(examples))
        if not how:
            return predictions
        unexplained = explaining.of(model, how, examples, predictions)
        found = instances.checked(requested, await self._explainer.submit(unexplained))
        return [{**p, "explanation": e} for p, e in zip(predictions, found, strict=True)]

    def _run(self, examples: Sequence[Example]) -> list[Prediction | Exception]:
        """Predict a batch, in the batcher's thread. The examples of a batch that fails are retried
        one by one: an example on which the model fails must not fail the other requests.
        """
        model = self._loaded()
        try:
            if model.rows:
                return model.predict(examples)
            return self._run_images(model, [e for e in examples if isinstance(e, EncodedImage)])
        except Exception as error:
            if len(examples) == 1:
                return [error]
            _log.warning("a batch of %d failed, retrying one by one: %s", len(examples), error)
        return [self._run([example])[0] for example in examples]

    def _run_images(
        self, model: Predictor, images: Sequence[EncodedImage]
    ) -> list[Prediction | Exception]:
        decode = functools.partial(_pixels, model)
        # One image is not worth another thread.
        decoded = list(
            map(decode, images) if len(images) == 1 else self._workers.map(decode, images)
        )
        good = [pixels for pixels in decoded if isinstance(pixels, np.ndarray)]
        predictions = iter(model.predict(good) if good else ())
        return [next(predictions) if isinstance(d, np.ndarray) else d for d in decoded]

    @contextmanager
    def _holding(self, count: int) -> Iterator[None]:
        if count > MAX_BODY_BYTES:
            raise _too_large()
        if self._held + count > MAX_HELD_BYTES:
            raise OverloadedError(f"requests of {self._held >> 20} MB are already in progress")
        self._held += count
        try:
            yield
        finally:
            self._held -= count


def _pixels(model: Predictor, image: EncodedImage) -> np.ndarray | ImageError:
    try:
        return model.pixels(image.data)
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
