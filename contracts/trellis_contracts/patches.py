"""Which patches a network of masks can learn from: known before there is a dataset, and asked again
by the trainer.
"""

BACKBONE_HALVINGS = 5
"""How often each network of keras.applications halves an image."""


def unfit(side: int, halvings: int, size: tuple[int, int]) -> str | None:
    """Return why patches of this side cannot be cut of images of (height, width), in a clause; None
    if they can. halvings: of the network.
    """
    multiple, least = 2**halvings, min(size)
    if side % multiple:
        nearest = max(1, round(side / multiple)) * multiple
        return (
            f"the network halves a patch {halvings} times: use a multiple of {multiple}, such as "
            f"{nearest}"
        )
    if any(edge % multiple for edge in size):
        return (
            f"tiles begin at multiples of {multiple} pixels, and {size[0]} x {size[1]} images have "
            "no such sides: choose another size of the images, or leave patch out"
        )
    if side > least:
        return f"{size[0]} x {size[1]} images are smaller: use at most {least}, or leave patch out"
    return None
