"""Published experiments: what a folder of `experiments/` says, running its cells, and fitting its parameters.

definition.py  expected.toml and fitted.toml → an `Experiment`
metric.py      which number of a result a cell is about
runner.py      many runs at once, each only once
reproduction.py  published beside simulated
calibration.py   parameters fitted on the cells named for it
"""
