"""Benchmark tools in their own formats: outputs read into one shape, and ours written as theirs.

measurement.py   the shape that measured and simulated results share
"""
