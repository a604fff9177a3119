"""What a run may cost at most, from a table of prices."""
