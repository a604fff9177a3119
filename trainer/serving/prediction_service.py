"""The path of a prediction request: body -> instances -> batch -> model -> predictions.

Explanations are made in a thread of their own, one example at a time, so that no prediction waits
for them.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from trainer.images import ImageError
from trainer.serving import errors, explaining, instances
from trainer.serving.batching import Batcher, Bound
from trainer.serving.errors import (
    InvalidFieldError,
    InvalidInstanceError,
    InvalidRequestError,
    NotReadyError,
    OverloadedError,
    ServingError,
    TooLargeError,
    TooSlowError,
    Violation,
)
from trainer.serving.explaining import Unexplained
from trainer.serving.fetching import Fetcher
from trainer.serving.image_values import ImageAddress
from trainer.serving.limits import (
    BODY_TIMEOUT_SECONDS,
    MAX_BATCH,
    MAX_BATCH_COST,
    MAX_BODY_BYTES,
    MAX_EXPLAINING_COST,
    MAX_FETCHED_BYTES,
    MAX_HELD_BYTES,
    MAX_MASK_BYTES,
    MAX_WAITING,
    MAX_WAITING_COST,
)
from trainer.serving.parameters import Request
from trainer.serving.row_explanations import RowExplainer
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

Prediction = dict[str, Any]


class Predictor(Protocol):
    """The part of trainer.serving.model.Model that the service uses."""

    rows: RowReader
    classes: list[str]
    explainer: RowExplainer | None

    def predict(self, rows: Sequence[Row]) -> list[Prediction | Exception]:
        """A prediction for each row, whose images are decoded."""


class PredictionService:
    """Predictions of one model, once it is loaded."""

    def __init__(self, fetcher: Fetcher):
        self.model: Predictor | None = None
        self.draining = False
        self.last_request = 0.0  # arrival of the last one, in the event loop's time
        self._held = 0  # bytes
        self._fetcher = fetcher
        self._workers = ThreadPoolExecutor(_WORKERS, "work")
        self._batcher: Batcher[Row, Prediction] = Batcher(
            self._run,
            lambda row: row.cost,
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
                    _log.error("the model fails on an instance: %s", errors.trace(error))
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
        request = await self._read(model.rows, body)
        if not any(_addresses(model.rows, row) for row in request.instances):
            return await self._predict(model, request, request.instances)
        with self._holding(MAX_FETCHED_BYTES):
            rows = instances.checked(await self._fetched(model.rows, request.instances))
            return await self._predict(model, request, rows)

    async def _fetched(
        self, reader: RowReader, rows: Sequence[Row]
    ) -> list[Row | InvalidInstanceError]:
        """The rows with the files of their images in the place of addresses."""
        addresses = [address for row in rows for address in _addresses(reader, row)]
        found = iter(await self._fetcher.fetch(addresses))
        outcomes: list[Row | InvalidInstanceError] = []
        for row in rows:
            wrong = []
            values = list(row.values)
            for place in reader.images:
                if isinstance(values[place], ImageAddress):
                    path, values[place] = values[place].path, next(found)
                    if isinstance(values[place], ImageError):
                        wrong.append(InvalidFieldError(path, str(values[place])))
            outcomes.append(InvalidInstanceError(wrong) if wrong else Row(tuple(values)))
        return outcomes

    async def _read(self, reader: RowReader, body: bytes) -> Request[Row]:
        columns = len(reader.images) < len(reader.fields)
        if len(body) <= (_ROWS_READ_AT_ONCE if columns else _IMAGES_READ_AT_ONCE):
            return reader.read(body)
        return await asyncio.get_running_loop().run_in_executor(self._workers, reader.read, body)

    async def _predict(
        self, model: Predictor, request: Request[Row], rows: Sequence[Row]
    ) -> list[Prediction]:
        """rows: the request's instances, none of whose images is an address any more."""
        cost = sum(row.cost for row in rows)
        if cost > MAX_WAITING_COST:  # the queue could never accept it
            reason = (
                f"the images have {cost / 1e6:.0f} megapixels in total, and one request may have "
                f"{MAX_WAITING_COST / 1e6:.0f}"
            )
            raise InvalidRequestError([Violation("instances", reason)])
        how = request.explain
        if how:
            explaining.check(model, how, rows)
        predictions = instances.checked(await self._batcher.submit(rows))
        _check_masks(predictions)
        if not how:
            return predictions
        unexplained = explaining.of(model, how, rows, predictions)
        found = instances.checked(await self._explainer.submit(unexplained))
        return [{**p, "explanation": e} for p, e in zip(predictions, found, strict=True)]

    def _run(self, rows: Sequence[Row]) -> list[Prediction | Exception]:
        """Predict a batch, in the batcher's thread. The examples of a batch that fails are retried
        one by one: an example on which the model fails must not fail the other requests.
        """
        model = self._loaded()
        try:
            decoded = self._decoded(model.rows, rows)
            good = [row for row in decoded if isinstance(row, Row)]
            predictions = iter(model.predict(good) if good else ())
            return [next(predictions) if isinstance(row, Row) else row for row in decoded]
        except Exception as error:
            if len(rows) == 1:
                return [error]
            kind = type(error).__name__
            _log.warning("a batch of %d failed, retrying one by one: %s", len(rows), kind)
        return [self._run([row])[0] for row in rows]

    def _decoded(
        self, reader: RowReader, rows: Sequence[Row]
    ) -> Sequence[Row | InvalidInstanceError]:
        if not reader.images:
            return rows

        def decode(row: Row) -> Row | InvalidInstanceError:
            try:
                return reader.decoded(row)
            except InvalidInstanceError as error:
                return error

        # One row is not worth another thread.
        return list(map(decode, rows) if len(rows) == 1 else self._workers.map(decode, rows))

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


def _addresses(reader: RowReader, row: Row) -> list[ImageAddress]:
    """The images of a row that are still in buckets."""
    values = (row.values[place] for place in reader.images)
    return [value for value in values if isinstance(value, ImageAddress)]


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


def _check_masks(predictions: Sequence[Prediction]) -> None:
    """Raises TooLargeError if the response would not pass Vertex AI."""
    size = sum(len(found["mask"]["b64"]) for found in predictions if "mask" in found)
    if size > MAX_MASK_BYTES:
        raise TooLargeError(
            f"the masks of {len(predictions)} instances have {size / 1e6:.1f} MB, and a response "
            f"may have {MAX_MASK_BYTES / 1e6:.1f}: send fewer instances in one request"
        )


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"the request has more than {MAX_BODY_BYTES >> 20} MB, Vertex AI's own limit: send fewer "
        "or smaller images, or their gs:// addresses"
    )
