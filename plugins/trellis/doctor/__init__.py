"""`trellis doctor`: whether a real project has what a run needs, before the first run.

`checks` has one module for each part of the project; each finds what is wrong, says why it matters,
and gives the command that mends it. Nothing is changed. `smoke` runs two small jobs.
"""
