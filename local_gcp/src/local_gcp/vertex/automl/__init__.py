"""A stand-in for AutoML: a small search over scikit-learn models, named as what it is.

inputs.py       what a training pipeline may ask for, checked
task.py         the pipeline's task: data, a job, a model and its evaluation
train.py        the job's program; reads a config file, writes a folder
  features.py     columns of a table -> numbers
  images.py       images -> numbers
  candidates.py   the models that are tried
  search.py       which of them is best on data that it was not fitted to, within the budget
  evaluation.py   Google's metrics, on the test set
  result.py       what it leaves beside the model
  model.py        the trained model as a file, and its predictions
"""
