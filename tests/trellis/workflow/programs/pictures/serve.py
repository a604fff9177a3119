"""The model server: that of dags/experiments/programs, whose instances are pictures."""

import base64

from nearest import serve

from pictures import columns
from trellis_contracts.program import inputs


class Handler(serve.Handler):
    """Reads an image by its address, or from the request."""

    def _predictions(self, instances):
        found = self.model.predict(columns(_file(instance["image"]) for instance in instances))
        return [self._named(row) for row in found]


def _file(image):
    if isinstance(image, dict):
        return base64.b64decode(image["b64"])
    return inputs.path(image).read_bytes()


serve.Handler = Handler
serve.main()
