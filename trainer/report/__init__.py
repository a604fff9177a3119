"""report.html: the comparison of a run on one self-contained page.

The modules here turn results into positions and texts; how they look is in templates/. The charts
are inline SVG that takes its colours from style.css, so they follow the reader's light or dark
theme, print well and stay small.

scales, ticks     data values to pixels, and where an axis has its ticks
charts, planes    curves over epochs, points on two axes; and what they are drawn with
contenders        colours and names, the same in every chart
forests           estimates with their intervals on one axis
discrimination    ROC curves
reliability       calibration curves
residuals         a regression's predictions against the truth
mistakes          classes and mistakes of the winner
confusion         confusion matrices
learning          learning curves of the full trainings
tuning            the tuning job's trials
hyperparameters   hyperparameters against the metric
features          what is in a table, and what matters where that is known
drift             what has moved since the dataset before
pictures          images as data URIs
moments           dates and durations
page              the whole page
"""
