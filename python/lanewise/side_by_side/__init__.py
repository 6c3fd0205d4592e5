"""Scenarios, runs and measurements side by side, and what explains the difference between them.

Two runs are a `lanewise.comparison.Comparison`. More than two sides, and measurements, are a `SideBySide`
(`several`): rows that were matched by what was run or measured, and their ratios to the first side.
"""
