"""Scenarios as documents: what programs write and the core reads.

``tables`` has a type for each kind of component and of workload, generated from the parameters of the core.
"""

from lanewise.scenario.text import scenario_text as scenario_text
