"""The model server: that of dags/experiments/programs, with XGBoost's trees and their own file."""

import http.server
import os

from nearest.serve import Handler

from trees import Trees
from trellis_contracts.program import inputs

Handler.model = Trees.load(inputs.path(os.environ["AIP_STORAGE_URI"]))
address = ("0.0.0.0", int(os.environ["AIP_HTTP_PORT"]))
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
