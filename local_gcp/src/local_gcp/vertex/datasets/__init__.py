"""DatasetService: managed datasets, and their data as a training reads it.

dataset_service.py   create, get, list, update, delete; listings of what is inside
importing.py    import files, with the label and set of each image
items.py        the images of a dataset, with their labels
layout.py       the data for a custom training: AIP_TRAINING_DATA_URI etc.
"""
