"""DatasetService: managed datasets, and their data as a training reads it.

dataset_service.py   create, get, list, delete, import
importing.py    import files, with the label and set of each image
items.py        the images of a dataset, with their labels
sets.py         the training, validation and test sets, as AutoML reads them
"""
