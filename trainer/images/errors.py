"""Errors of image files."""


class ImageError(ValueError):
    """Bytes that are no image of a kind that is read; the message says why."""


class DeepImageError(ImageError):
    """An image of more than 8 bits per channel, and no scale says how they become pixels."""
