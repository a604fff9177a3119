"""`trellis doctor`: checks whether a real project has what a run needs, before the first run.

`diagnoses` has one module for each part of the project; each reports problems with their
consequence and the command that fixes them. Nothing is changed. `smoke` runs two small jobs.
"""
