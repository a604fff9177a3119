"""Downloads the images that a request names by gs:// address."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from trainer.images import ImageError
from trainer.serving.cloud_storage import CloudStorage, ObjectError, UnreachableError
from trainer.serving.errors import StorageUnavailableError
from trainer.serving.image_values import ImageAddress
from trainer.serving.images import EncodedImage, inspect
from trainer.serving.limits import MAX_FETCHED_BYTES
from trainer.serving.settings import ANY_IMAGE

# Reading from a bucket is I/O-bound.
_THREADS = 16


class Fetcher:
    """Reads images from buckets; the images of one request concurrently.

    prefixes: of the gs:// addresses that a request may name. connect: creates the client, in a
    thread, for the first image.
    """

    def __init__(
        self,
        prefixes: Sequence[str] = ANY_IMAGE,
        connect: Callable[[], CloudStorage] = CloudStorage,
    ):
        self._prefixes = tuple(prefixes)
        self._connect = connect
        self._storage: CloudStorage | None = None
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, "fetch")

    async def fetch(self, addresses: Sequence[ImageAddress]) -> list[EncodedImage | ImageError]:
        """An image or an error for each address. Raises StorageUnavailableError."""
        loop = asyncio.get_running_loop()
        allowance = _Allowance(MAX_FETCHED_BYTES)
        images = await asyncio.gather(
            *(
                loop.run_in_executor(self._threads, self._fetch, address, allowance)
                for address in addresses
            ),
            return_exceptions=True,
        )
        found: list[EncodedImage | ImageError] = []
        for image in images:
            if isinstance(image, BaseException) and not isinstance(image, ImageError):
                raise image
            found.append(image)
        return found

    def _fetch(self, address: ImageAddress, allowance: "_Allowance") -> EncodedImage:
        if not f"gs://{address.bucket}/{address.name}".startswith(self._prefixes):
            allowed = ", ".join(self._prefixes)
            raise ImageError(f"this server reads images below {allowed} only")
        allowance.spend(0)  # stop reading once another image has exceeded the limit
        try:
            with self._lock:
                self._storage = self._storage or self._connect()
            data = self._storage.read(address.bucket, address.name, MAX_FETCHED_BYTES)
        except ObjectError as error:
            raise ImageError(str(error)) from error
        except UnreachableError as error:
            raise StorageUnavailableError(f"Cloud Storage does not answer: {error}") from error
        allowance.spend(len(data))
        return inspect(data, address.path)


class _Allowance:
    """Limit on the total bytes of one request's images; shared by threads."""

    def __init__(self, count: int):
        self._count = self._left = count
        self._lock = threading.Lock()

    def spend(self, count: int) -> None:
        with self._lock:
            self._left -= count
            if self._left < 0:
                raise ImageError(
                    f"the images that the request names exceed {self._count >> 20} MB in total"
                )
