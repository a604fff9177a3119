"""The contract with a program that knows nothing of Trellis: an image of a group's own.

terms     what it is given, what it must leave, and by which rules that is checked, as tables
forms     what is peculiar to a family of tasks: labels, predictions, loss, answers
page      the contract as a page, made from these tables: `trellis contract`
inputs    reads what it is given
outputs   writes what it must leave, and checks it

inputs and outputs are for programs in Python; they need NumPy and pyarrow, and no TensorFlow. A
program in another language does the same by the page.
"""
