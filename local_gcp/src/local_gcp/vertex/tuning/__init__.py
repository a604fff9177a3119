"""Hyperparameter tuning with Vertex AI's semantics: a study proposes, trials run, metrics decide.

Pure logic (no clock, no process, no database): `space`, `spec`, `trials`, `suggest`, `stopping`,
`failures`. With side effects: `metrics` (files that trials write), `controller` (runs the trials of
a job), `tuning_jobs` (the API).
"""
