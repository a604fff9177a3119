"""Reads and unpacks container images in OCI image layouts, without a container engine.

`buildah push IMAGE oci:FOLDER`, `skopeo copy docker-daemon:IMAGE oci:FOLDER` and
`docker buildx build --output type=oci,tar=false,dest=FOLDER` write them.
https://github.com/opencontainers/image-spec/blob/main/image-layout.md and, beside it, config.md and
layer.md (whiteouts).
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


class LayoutError(Exception):
    """A folder that is not a readable image layout; the message says why."""


@dataclasses.dataclass(frozen=True)
class OciImage:
    """One image of a layout, and how its programs are run."""

    folder: Path
    digest: str
    """Digest of the manifest, without `sha256:`."""
    layers: Sequence[Path]
    """Tar files, the lowest first."""
    entrypoint: Sequence[str]
    cmd: Sequence[str]
    env: Mapping[str, str]
    workdir: str
    user: str
    """Value of USER in a Dockerfile; "" is root."""

    @property
    def rootfs(self) -> Path:
        """Folder of the files that `unpack` writes."""
        return self.folder / "unpacked" / self.digest


def read(folder: Path) -> OciImage:
    """The only image in a layout, for Linux; raises LayoutError."""
    try:
        manifests = _json(folder / "index.json")["manifests"]
        if len(manifests) != 1:
            raise LayoutError(
                f"{folder} holds {len(manifests)} images; write one image per folder."
            )
        manifest = _json(_blob(folder, manifests[0]))
        config = _json(_blob(folder, manifest["config"]))["config"]
        layers = [_blob(folder, layer) for layer in manifest["layers"]]
    except (OSError, ValueError, KeyError) as error:
        raise LayoutError(f"{folder} is no OCI image layout: {error!r}.") from None
    return OciImage(
        folder=folder,
        digest=manifests[0]["digest"].partition(":")[2],
        layers=layers,
        entrypoint=config.get("Entrypoint") or (),
        cmd=config.get("Cmd") or (),
        env=dict(variable.split("=", 1) for variable in config.get("Env") or ()),
        workdir=config.get("WorkingDir") or "/",
        user=config.get("User") or "",
    )


def unpack(image: OciImage) -> Path:
    """Unpack the image's files to a folder beside the layout, once, also for concurrent calls.

    As root, for the files' owners. OSError; LayoutError for a layer in an unknown compression.
    """
    image.rootfs.parent.mkdir(exist_ok=True)
    with (image.rootfs.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.rootfs.exists():
            partial = image.rootfs.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            for layer in image.layers:
                _apply(layer, partial)
            partial.rename(image.rootfs)
    return image.rootfs


def _apply(layer: Path, root: Path) -> None:
    try:
        with tarfile.open(layer) as archive:
            # As filter="fully_trusted", which Python has since 3.11.4; Debian's is 3.11.2.
            archive.extraction_filter = lambda member, path: member
            for member in archive:
                _apply_member(archive, member, root)
    except tarfile.ReadError:
        raise LayoutError(f"{layer} is neither a plain nor a gzipped tar file.") from None


def _apply_member(archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    parent, _, name = member.name.rpartition("/")
    folder = _inside(root, parent)
    if name == _OPAQUE:
        for path in folder.iterdir():
            _remove(path)
    elif name.startswith(_WHITEOUT):
        _remove(folder / name.removeprefix(_WHITEOUT))
    else:
        target = folder / name
        if not (member.isdir() and target.is_dir() and not target.is_symlink()):
            _remove(target)
        archive.extract(member, root, numeric_owner=True)


def _inside(root: Path, name: str) -> Path:
    """A folder of the image; raises LayoutError if `..` or a link leads out of it."""
    folder = (root / name).resolve()
    if folder != root.resolve() and root.resolve() not in folder.parents:
        raise LayoutError(f"a layer has an entry outside of the image: {name}.")
    return folder


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _blob(folder: Path, descriptor: Mapping[str, Any]) -> Path:
    algorithm, _, digest = descriptor["digest"].partition(":")
    path = folder / "blobs" / algorithm / digest
    if not path.is_file():
        raise LayoutError(f"{folder} has no blob {descriptor['digest']}.")
    return path


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def needs() -> str | None:
    """Return what is missing on this machine to run such images; None if nothing is."""
    if os.geteuid() != 0:
        return "root"
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return None if shutil.which("runc", path=path) else "runc"
