"""BigQuery ML on scikit-learn: CREATE MODEL and the ML.* functions."""

from .models import ModelRecord, Models

__all__ = ["ModelRecord", "Models"]
