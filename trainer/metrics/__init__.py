"""Metrics of predictions, each defined once, for training and comparison alike.

classification    metrics of one class of several; auc, precision and calibration beside it are
                  the longer ones of them
binary            those of two classes, of which one is positive
multilabel        those of any number of classes
regression        those of a number
survival          those of a time to an event; survival_estimates and survival_pairs are parts
                  of them
segmentation      those of masks; masks and boundaries make the numbers of them
metric            the definition of a metric
outcome           predictions for the test examples, with what the metrics derive from them; of any
                  number of classes, set_outcome
chance            the score of an answer that does not look at the example
decision          the threshold by which one of two classes is decided
formulas, ranks   what several metrics compute
groups            examples that are not independent
"""
