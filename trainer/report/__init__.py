"""report.html: the comparison of a run on one self-contained page.

The modules here turn results into positions and texts; how they look is in templates/. The charts
are inline SVG that takes its colours from style.css, so they follow the reader's light or dark
theme, print well and stay small.

scales            data values to pixels, and ticks
charts            curves over epochs, points on two axes
intervals         estimates with their intervals on one axis
learning          learning curves of the full trainings
tuning            the tuning job's trials
hyperparameters   hyperparameters against the metric
champion          confusion matrix, classes and mistakes of the champion
pictures          images as data URIs
page              the whole page
"""
