"""Losses: contents of an image file that the model does not see, by the kinds that an export
counts.

docs/how-to/image-files.md says of each kind of file what becomes of it.
"""

from typing import Literal

Loss = Literal[
    "frames",
    "transparency",
    "profile",
    "cmyk",
    "channels",
    "palette",
    "colour",
    "clipped",
    "rounded",
    "annotations",
]

# Behind "3 of 40 images have ".
TEXTS: dict[Loss, str] = {
    "frames": "further frames or pages, which are not used",
    "transparency": "transparent pixels, which are composed over white",
    "profile": "a colour profile other than sRGB, which is not applied",
    "cmyk": "the colours of a press (CMYK), which are converted without a profile",
    "channels": "channels beside red, green and blue, which are left out",
    "palette": "a palette of 16 bits per channel, of which the upper 8 are kept",
    "colour": "colours, of which source.channels: 1 keeps the brightness",
    "clipped": "values outside the range or window of source.scale, which become its ends",
    "rounded": "finer values than 65,536 steps, to which they are rounded",
    "annotations": "text burned into their pixels (DICOM), which may name the patient",
}
