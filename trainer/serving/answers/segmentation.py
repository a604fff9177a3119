"""Answers that are masks."""

import base64

import numpy as np

from trainer import masks
from trainer.serving.answers import Form
from trainer.serving.limits import MAX_MASK_PIXELS


class Answers(Form):
    """See the module."""

    mark, explained = "mask", False
    # Each pixel has as many numbers in the network as an image elsewhere.
    at_once = MAX_MASK_PIXELS

    def outputs(self, about, scores):
        counts = masks.pixels(scores, len(about.classes))
        return {"mask": scores, "shares": (counts / scores[0].size).astype(np.float32)}

    def scores(self, outputs):
        return outputs["mask"]

    def checked(self, outputs):
        return outputs["shares"]

    def responses(self, about, outputs, done):
        pairs = zip(outputs["mask"], outputs["shares"], strict=True)
        return [
            {
                "mask": {"b64": base64.b64encode(masks.encode(mask)).decode()},
                "shares": dict(zip(about.classes, shares, strict=True)),
            }
            for mask, shares in pairs
        ]

    def columns(self, about, told):
        pngs = (base64.b64decode(one["mask"]["b64"]) for one in told)
        shares = {f"share.{name}": [one["shares"][name] for one in told] for name in about.classes}
        return {"mask": [masks.decode(png, len(about.classes)) for png in pngs], **shares}
