"""gcsfs, as Airflow's ObjectStoragePath and pandas use it. Argument: a bucket to make."""

import os
import sys

import gcsfs
import pytest

fs = gcsfs.GCSFileSystem(project="local-gcp")
bucket = sys.argv[1]
fs.mkdir(bucket)

with fs.open(f"{bucket}/a/b.txt", "w") as file:  # multipart upload, lines end with LF
    file.write("hello\r")
assert fs.cat(f"{bucket}/a/b.txt") == b"hello\r"

data = os.urandom(3 << 20)
with fs.open(f"{bucket}/big.bin", "wb", block_size=1 << 20) as file:  # resumable upload
    for start in range(0, len(data), 1 << 20):
        file.write(data[start : start + (1 << 20)])
assert fs.cat(f"{bucket}/big.bin") == data
with fs.open(f"{bucket}/big.bin", "rb") as file:
    file.seek(100)
    assert file.read(10) == data[100:110]
with fs.open(f"{bucket}/empty", "wb"):
    pass
assert fs.info(f"{bucket}/empty")["size"] == 0

fs.cp(f"{bucket}/big.bin", f"{bucket}/copy.bin")
fs.mv(f"{bucket}/copy.bin", f"{bucket}/d/moved.bin")
assert fs.glob(f"{bucket}/**/*.bin") == [f"{bucket}/big.bin", f"{bucket}/d/moved.bin"]
assert fs.ls(bucket) == [f"{bucket}/{name}" for name in ("a", "big.bin", "d", "empty")]
assert fs.isdir(f"{bucket}/d")
assert not fs.exists(f"{bucket}/nothing")

fs.setxattrs(f"{bucket}/empty", k="v")
fs.invalidate_cache()
assert fs.getxattr(f"{bucket}/empty", "k") == "v"
with pytest.raises(FileExistsError), fs.open(f"{bucket}/empty", "xb") as file:
    file.write(b"x")

fs.rm(f"{bucket}/a", recursive=True)
fs.rm([f"{bucket}/big.bin", f"{bucket}/empty"])
assert fs.find(bucket) == [f"{bucket}/d/moved.bin"]
fs.rm(bucket, recursive=True)
assert not fs.exists(bucket)
