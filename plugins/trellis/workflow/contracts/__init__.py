"""What passes between stages: plans and other files with their schemas, the paths of a run's
files, and the Params of a run.
"""
