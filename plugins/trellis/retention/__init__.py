"""Data and models that a group no longer needs: which they are, and their removal.

`needs` decides, from plain values, what is still needed. `inventory` lists what is there, `command`
prints both and removes. Nothing is removed without being named first.
"""
