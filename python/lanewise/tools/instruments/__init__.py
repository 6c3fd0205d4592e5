"""Benchmark tools in their own formats: outputs read into one shape, and ours written as theirs.

measurement.py   the shape that measured and simulated results share
simulated.py     what a run says in the words of its instruments
native.py        a run written as a tool's own output
sizes.py         one run for each message size, as the tools go through them
fio.py perftest.py osu.py iometer.py smartflow.py   read and write the formats of the instruments
"""
