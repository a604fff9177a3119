"""Values of DICOM files are pydicom's, by the file's own or the group's window; who the patient is
stays in the file.
"""

import re

import numpy as np
import pydicom
import pytest
from pydicom.pixels import apply_rescale, apply_windowing, pixel_array

from tests.trainer.images.dicom import SAMPLES, dicom, sample, texts
from tests.trainer.images.files import DEEP, GREY, HEIGHT, WIDTH
from trainer import images
from trainer.images import ImageError, Scale
from trainer.images.dicom import is_dicom


def seen(data, scale=None, pages=None, shape=(HEIGHT, WIDTH, 1)):
    return images.pixels(data, shape, scale=scale and Scale.parse(scale), pages=pages)[..., 0]


@pytest.mark.parametrize("name", ["MR_small", "examples_overlay", "693_J2KI"])
def test_a_window_in_the_header_is_what_pydicom_makes_of_it(name):
    dataset = pydicom.dcmread(SAMPLES / f"{name}.dcm")
    values = apply_rescale(pixel_array(dataset), dataset)
    shown = apply_windowing(values, dataset)
    # pydicom maps the window to the range of the stored type, in the unit of the values.
    bits = dataset.BitsStored
    least = -(2 ** (bits - 1)) if dataset.PixelRepresentation else 0
    low = least * dataset.get("RescaleSlope", 1) + dataset.get("RescaleIntercept", 0)
    expected = (shown - low) / (2**bits - 1) * 65535
    found = seen(sample(name), "window", shape=(*values.shape, 1))
    assert np.abs(found - expected).max() <= 0.51
    assert len(np.unique(found)) > 50


def test_an_exact_window_is_no_pixel_narrower():
    exact = {"WindowCenter": "2000", "WindowWidth": "1000", "VOILUTFunction": "LINEAR_EXACT"}
    found = seen(dicom(DEEP, **exact), "window")
    assert np.array_equal(found, seen(dicom(DEEP), "range:1500,2500"))
    assert not np.array_equal(
        found, seen(dicom(DEEP, **exact | {"VOILUTFunction": "LINEAR"}), "window")
    )


@pytest.mark.parametrize(
    "window",
    [
        {},
        {"WindowCenter": "40"},
        {"WindowCenter": "40", "WindowWidth": "1"},
        {"WindowCenter": "40", "WindowWidth": "400", "VOILUTFunction": "SIGMOID"},
    ],
)
def test_a_header_without_a_straight_window_is_refused_by_what_it_lacks(window):
    with pytest.raises(ImageError, match=r"no window in its header .* give source\.scale a range"):
        seen(dicom(DEEP, **window), "window")


def test_the_first_of_several_windows_counts():
    several = dicom(DEEP, WindowCenter=["2000", "40"], WindowWidth=["1000", "400"])
    one = dicom(DEEP, WindowCenter="2000", WindowWidth="1000")
    assert np.array_equal(seen(several, "window"), seen(one, "window"))


def test_a_range_is_in_the_unit_of_the_values():
    hounsfield = dicom(DEEP, bits=12, RescaleSlope="1", RescaleIntercept="-1024")
    found = seen(hounsfield, "range:-160,240")
    expected = np.clip((DEEP.astype(float) - 1024 + 160) / 400, 0, 1) * 65535
    assert np.abs(found - expected).max() <= 0.51


def test_full_is_the_range_of_the_stored_bits():
    expected = DEEP.astype(float) / 4095 * 65535
    rescaled = {"RescaleSlope": "0.25", "RescaleIntercept": "-7"}
    for elements in ({}, rescaled):
        found = seen(dicom(DEEP, bits=12, **elements), "full")
        assert np.abs(found - expected).max() <= 0.51
    falling = seen(dicom(DEEP, bits=12, RescaleSlope="-1", RescaleIntercept="0"), "full")
    assert np.abs(falling - (65535 - expected)).max() <= 0.51


@pytest.mark.parametrize("scale", ["full", "range:200,3900", "percentiles:1,99"])
def test_where_0_is_white_the_picture_is_inverted(scale):
    white, black = (seen(dicom(DEEP, kind), scale) for kind in ("MONOCHROME1", "MONOCHROME2"))
    assert np.array_equal(white, 65535 - black)
    assert np.array_equal(seen(dicom(GREY, "MONOCHROME1")), 255 - GREY)


def test_a_table_of_the_modality_is_applied():
    table = pydicom.Dataset()
    table.LUTDescriptor, table.ModalityLUTType = [256, 0, 16], "US"
    table.LUTData = (np.arange(256, dtype=np.uint16)[::-1] * 100).tobytes()
    found = seen(dicom(GREY, ModalityLUTSequence=[table]), "range:0,25500")
    assert np.abs(found - (255.0 - GREY) * 257).max() <= 1


def groups(**elements):
    """A functional group of a file of several frames."""
    group, item = pydicom.Dataset(), pydicom.Dataset()
    for name, value in elements.items():
        setattr(item, name, value)
    kind = "PixelValueTransformation" if "RescaleSlope" in elements else "FrameVOILUT"
    setattr(group, f"{kind}Sequence", [item])
    return group


def test_each_frame_has_a_slope_and_a_window_of_its_own():
    stack = np.stack([DEEP, DEEP])
    slopes = [groups(RescaleSlope=str(slope), RescaleIntercept="0") for slope in (1, 2)]
    window = groups(WindowCenter="2000.5", WindowWidth="1001")
    data = dicom(
        stack,
        frames=2,
        PerFrameFunctionalGroupsSequence=slopes,
        SharedFunctionalGroupsSequence=[window],
    )
    assert np.array_equal(seen(data, "range:0,8000", "1"), seen(dicom(DEEP), "range:0,8000"))
    assert np.array_equal(seen(data, "range:0,8000", "2"), seen(dicom(DEEP), "range:0,4000"))
    assert np.array_equal(seen(data, "window", "1"), seen(dicom(DEEP), "range:1500,2500"))
    # The mean is of values in their unit: 1.5 times the stored ones.
    mean = seen(data, "range:0,6000", "mean").astype(int)
    assert np.abs(mean - seen(dicom(DEEP), "range:0,4000")).max() <= 1


def torn(data, name, value):
    """The file with another number in an element of two bytes."""
    tag = pydicom.tag.Tag(name)
    place = data.index(tag.group.to_bytes(2, "little") + tag.element.to_bytes(2, "little")) + 8
    return data[:place] + value.to_bytes(2, "little") + data[place + 2 :]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (sample("MR_truncated"), "corrupt or truncated"),
        (sample("JPEG2000-embedded-sequence-delimiter"), "corrupt or truncated"),
        (torn(sample("SC_rgb_jpeg_dcmtk"), "Rows", 50), "another size than its header"),
        (torn(dicom(GREY), "Rows", 0), "no usable Rows"),
        (torn(dicom(GREY), "Rows", 60_000), "corrupt or truncated"),
        (torn(torn(dicom(GREY), "Rows", 60_000), "Columns", 60_000), "too large"),
        (dicom(DEEP, RescaleSlope="0"), "RescaleSlope of 0"),
        (dicom(GREY, "HSV"), "photometric interpretation"),
        (sample("meta_missing_tsyntax"), "does not name its transfer syntax"),
        (sample("image_dfl"), "Deflated.*gdcmconv"),
        (sample("MR_small")[:400], "unreadable header|no usable"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_not_read_is_refused_by_what_it_is(data, said):
    with pytest.raises(ImageError, match=said):
        seen(data, "percentiles:0,100")


def test_neither_a_refusal_nor_a_warning_repeats_the_header(capfd, recwarn):
    known, said = 0, []
    for path in sorted(SAMPLES.glob("*.dcm")):
        if not is_dicom(data := path.read_bytes()):
            continue
        names = texts(path)
        for scale in (None, "full", "percentiles:1,99", "window"):
            for content in (data, data[: len(data) // 2]):
                try:
                    seen(content, scale)
                except ImageError as error:
                    said.append((path.name, str(error), names))
        known += len(names)
    assert known > 500
    assert len(said) > 100
    written = "".join(capfd.readouterr()) + "".join(str(w.message) for w in recwarn)
    for name, refusal, names in said:
        # A transfer syntax is no identifier of anybody.
        left = re.sub(r"transfer syntax [\d.]+ \(.*?\)", "", refusal) + written
        assert not [one for one in names if one in left], name
