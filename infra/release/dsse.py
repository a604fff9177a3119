"""Puts a statement and its signature into one file, and checks it.

    python3 infra/release/dsse.py message provenance.json >message        # what is to be signed
    python3 infra/release/dsse.py envelope provenance.json signature KEY  # prints the file
    python3 infra/release/dsse.py check provenance.dsse.json public-key.pem

The file is a DSSE envelope (https://github.com/secure-systems-lab/dsse), whose signature covers the
type of its content, too. KEY names the key in it, for people: whom to trust says the reader's own
public key. `check` needs openssl; it prints the statement, and ends with 1 if the signature is of
another key or text.
"""

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TYPE = "application/vnd.in-toto+json"


def message(payload: bytes, kind: str = TYPE) -> bytes:
    """Return the bytes that are signed: DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)


def envelope(payload: bytes, signature: bytes, key: str) -> dict[str, object]:
    """Return the content of the file."""
    signed = {"keyid": key, "sig": base64.b64encode(signature).decode()}
    content = base64.b64encode(payload).decode()
    return {"payloadType": TYPE, "payload": content, "signatures": [signed]}


def check(file: Path, key: Path) -> bytes:
    """Return the statement; raises ValueError if the key did not sign it."""
    content = json.loads(file.read_text())
    payload = base64.b64decode(content["payload"])
    (signed,) = content["signatures"]
    with tempfile.TemporaryDirectory() as folder:
        signature = Path(folder) / "signature"
        signature.write_bytes(base64.b64decode(signed["sig"]))
        command = ["openssl", "dgst", "-sha256", "-verify", str(key), "-signature", str(signature)]
        said = message(payload, content["payloadType"])
        if subprocess.run(command, input=said, capture_output=True, check=False).returncode:
            raise ValueError(f"{file} is not signed by {key}: do not trust it")
    return payload


if __name__ == "__main__":
    command, first, *others = sys.argv[1:]
    if command == "message":
        sys.stdout.buffer.write(message(Path(first).read_bytes()))
    elif command == "envelope":
        made = envelope(Path(first).read_bytes(), Path(others[0]).read_bytes(), others[1])
        print(json.dumps(made, indent=1))
    else:
        try:
            print(check(Path(first), Path(others[0])).decode(), end="")
        except ValueError as error:
            sys.exit(str(error))
