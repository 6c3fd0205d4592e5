"""The health of a machine: what is wrong with it, what it should reach, and whether it does.

`fleet` says what should be in a machine, `doctor` what is wrong with one, `predict` what its devices should
reach, `judge` whether a result is that much, and `measure` runs the tools. None uses one that is named after
it.
"""
