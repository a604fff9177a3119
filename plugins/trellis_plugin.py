"""The plugin that Airflow finds where this folder is its plugins folder; the wheel has an entry
point.
"""

from trellis.plugin import TrellisPlugin

__all__ = ["TrellisPlugin"]
