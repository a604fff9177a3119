"""trainer.serve by somebody who normalised pixels another way than training did: half as bright.

Every answer is well formed, and most labels are right: what only a smoke test finds.
"""

import sys

from trainer import serve
from trainer.serving.images import ImageInput


def pixels(self, data, as_trained=ImageInput.pixels):
    return as_trained(self, data) // 2


if __name__ == "__main__":
    ImageInput.pixels = pixels
    sys.exit(serve.main())
