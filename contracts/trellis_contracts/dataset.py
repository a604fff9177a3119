"""Declarations of a dataset in a bucket that both sides share."""

IMAGE_RULE = 2
"""Version of the rule by which image files become records. Raise it when the same file gives
another record: after a change of trainer.images, or an upgrade of OpenCV or Pillow that changes
pixels (a test fails then). It is part of the fingerprint, so that datasets of another rule are
exported again.
"""
