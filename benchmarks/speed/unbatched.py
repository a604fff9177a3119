"""trainer.serve without batching: each request is a call of the model of its own."""

import sys

from trainer import serve
from trainer.serving import prediction_service

if __name__ == "__main__":
    prediction_service.MAX_BATCH = 1
    sys.exit(serve.main())
