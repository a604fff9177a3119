"""Measurements of speed and memory, and of what the models learn: see README.md."""
