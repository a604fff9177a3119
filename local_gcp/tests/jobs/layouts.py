"""Writes small OCI image layouts for tests."""

import dataclasses
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Layer:
    """Files by name, text or bytes (then a program); symbolic links by name. Or `raw` bytes."""

    files: Mapping[str, str | bytes] = dataclasses.field(default_factory=dict)
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    raw: bytes | None = None

    def tar(self) -> bytes:
        if self.raw is not None:
            return self.raw
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, content in self.files.items():
                member = tarfile.TarInfo(name)
                member.mode = 0o755 if isinstance(content, bytes) else 0o644
                data = content if isinstance(content, bytes) else content.encode()
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            for name, target in self.links.items():
                member = tarfile.TarInfo(name)
                member.type, member.linkname = tarfile.SYMTYPE, target
                archive.addfile(member)
        return buffer.getvalue()


def write_layout(folder: Path, config: Mapping[str, Any], *layers: Layer, images: int = 1) -> None:
    """One image (or the same several times) as `buildah push IMAGE oci:FOLDER` would."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True, exist_ok=True)

    def blob(data: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    manifest = {
        "schemaVersion": 2,
        "config": blob(json.dumps({"os": "linux", "config": config}).encode()),
        "layers": [blob(layer.tar()) for layer in layers],
    }
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode())] * images}
    (folder / "index.json").write_text(json.dumps(index))


def programs(*names: str) -> Layer:
    """Programs of this machine, in /bin, with the libraries that they are linked against."""
    files = {}
    for name in names:
        path = shutil.which(name)
        files[f"bin/{name}"] = Path(path).read_bytes()
        linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+)", linked):
            files[library.removeprefix("/")] = Path(library).read_bytes()
    return Layer(files)
