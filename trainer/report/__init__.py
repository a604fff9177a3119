"""report.html: the comparison of a run on one self-contained page.

The modules here compute positions and texts; templates/ has the layout. The charts are inline SVG
with colours from style.css, so they follow the reader's light or dark theme, print well and stay
small.

scales, ticks     maps data values to pixels, and places ticks on an axis
charts, planes    curves over epochs, and points and curves on two axes
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
features          features of a table, and their importances
drift             changes since the previous dataset
pictures          images as data URIs
moments           dates and durations
page              the whole page
"""
