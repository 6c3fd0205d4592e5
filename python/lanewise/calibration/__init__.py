"""A scenario's own parameters, fitted to what was measured on a machine of one's own.

`measured.py` reads a table of measurements and `outputs.py` what a benchmark tool printed, `named.py` reads
which parameters are fitted and between which values, `joint.py` fits them together, `part.py` writes a part
that has them. What a cell is, how one is simulated and what an interval covers is that of published
experiments.
"""
