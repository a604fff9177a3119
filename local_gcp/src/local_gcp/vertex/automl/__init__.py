"""Emulates AutoML by a small search over scikit-learn models, which model descriptions state.

inputs.py       the inputs of a training pipeline, checked
task.py         the pipeline's task: data, a job, a model and its evaluation
train.py        the job's program; reads a config file, writes a folder
  features.py     columns of a table -> numbers
  images.py       images -> numbers
  candidates.py   the models that are tried
  search.py       selects the best of them on held-out data, within the budget
  evaluation.py   Google's metrics, on the test set
  result.py       its results beside the model
  model.py        the trained model as a file, and its predictions
"""
