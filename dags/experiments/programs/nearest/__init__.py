"""Nearest neighbours with NumPy alone, in an image that knows nothing of Trellis."""
