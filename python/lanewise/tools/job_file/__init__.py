"""fio's job files, run on a rig.

text.py          the file: sections, options, the lines they stand in
numbers.py       sizes and times as fio reads them
options.py       which options are modelled, which change nothing, which are refused
drives.py        which drive of the rig each `filename` is
plan.py          what is simulated: one run for each group of jobs that `stonewall` separates
report.py        the results as fio's JSON

A section becomes the workload of kind "fio" that a scenario could have as well; what its options mean belongs
to the core.
Source: fio's HOWTO and the behaviour of fio 3.33.
"""
