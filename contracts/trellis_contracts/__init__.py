"""The contracts between Airflow's side of Trellis and its job images.

Pure Python: standard library and jsonschema. Neither side imports the other; both import this.
"""

VERSION = "0.1.0"
"""Version of this distribution. A document that names another first number is refused."""
