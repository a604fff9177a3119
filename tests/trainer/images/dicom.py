"""DICOM files for tests: made of arrays, and pydicom's own samples."""

import io
import warnings
from pathlib import Path

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

SAMPLES = Path(pydicom.__file__).parent / "data/test_files"
"""Files that pydicom has for its own tests: of scanners, with names and identifiers."""


def dicom(
    pixels: np.ndarray,
    photometric: str = "MONOCHROME2",
    bits: int | None = None,
    frames: int = 0,
    syntax: str = ExplicitVRLittleEndian,
    **elements,
) -> bytes:
    """A file of these pixels: (h, w), (h, w, 3), or with `frames` (frames, h, w). bits: of a value;
    the array's by default. elements: further ones by pydicom's keywords.
    """
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.file_meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    dataset.file_meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=["trellis"])
    dataset.SOPClassUID = SecondaryCaptureImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID
    dataset.PatientName, dataset.PatientID = "Nobody^Anna", "MRN-4711"
    shape = pixels.shape[1:] if frames else pixels.shape
    dataset.Rows, dataset.Columns = shape[:2]
    dataset.SamplesPerPixel = 3 if len(shape) == 3 else 1
    if len(shape) == 3:
        dataset.PlanarConfiguration = 0
    if frames:
        dataset.NumberOfFrames = frames
    dataset.PhotometricInterpretation = photometric
    dataset.BitsAllocated = pixels.itemsize * 8
    dataset.BitsStored = bits or dataset.BitsAllocated
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(pixels.dtype.kind == "i")
    for name, value in elements.items():
        setattr(dataset, name, value)
    content = pixels.tobytes()
    dataset.PixelData = content + bytes(len(content) % 2)
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, dataset, enforce_file_format=True)
    return buffer.getvalue()


def sample(name: str) -> bytes:
    """One of pydicom's own files."""
    return (SAMPLES / f"{name}.dcm").read_bytes()


def texts(path: Path) -> set[str]:
    """What a file's header says of people, places and identifiers."""
    found: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        header = pydicom.dcmread(path, stop_before_pixels=True, force=True)
        for element in header.iterall():
            # A number of one repeated digit is found in many others.
            if element.VR in ("PN", "LO", "SH", "ST", "LT", "UI", "DA", "AE"):
                values = element.value if element.VM > 1 else [element.value]
                found |= {
                    str(value)
                    for value in values
                    if len(str(value)) > 5 and len(set(str(value))) > 2
                }
    return found
