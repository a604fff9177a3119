"""report.html: the comparison of a run on one self-contained page, and its figures.

The modules here choose data and texts; templates/ has the layout. A figure is a Vega-Lite
specification that holds its data (trellis_contracts.charts has the look). vl-convert draws it; the
drawing stands in the page with CSS variables as colours, so it follows the reader's light or dark
theme, and the specification in figures.json.

numbers           numbers as a reader sees them
axes              what an axis shows
contenders        colours and names, the same in every chart
curves            curves over two axes of numbers
forests           estimates with their intervals on one axis
discrimination    ROC curves
precision_recall  precision-recall curves
reliability       calibration curves
residuals         a regression's predictions against the truth
mistakes          classes and mistakes of the winner
confusion         confusion matrices
sets              classes and errors of a multi-label task's winner
learning          learning curves of the full trainings
tuning            the tuning job's trials
hyperparameters   hyperparameters against the metric
features          features of a table, and their importances
drift             changes since the previous dataset
dataset           groups, and why lines were left out
pictures          images as data URIs
moments           dates and durations
page              the whole page
"""
