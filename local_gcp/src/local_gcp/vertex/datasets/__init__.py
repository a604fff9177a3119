"""DatasetService: managed datasets, and their data as a training reads it.

dataset_service.py   create, get, list, update, delete; listings of what is inside
importing.py    import files: which image has which label and which use
items.py        the images of a dataset, with their labels
layout.py       what a custom training is given: AIP_TRAINING_DATA_URI and its like
"""
