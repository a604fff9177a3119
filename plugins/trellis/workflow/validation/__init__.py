"""Checks across sections, and of the file against the trainer's schema."""
