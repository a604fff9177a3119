"""The researcher's file and the group's platform file: their sections, keys and bounds."""
