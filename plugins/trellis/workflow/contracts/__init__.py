"""Files between the stages: plans and others with their schemas, the paths of a run's files, and
the Params of a run.
"""
