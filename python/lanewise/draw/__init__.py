"""Pictures of topologies: `lanewise draw`, and the pictures in reports.

``topology_svg(topology, use=None)`` in `svg` draws a `model.Topology`, which `scenario` makes of what
`explain` and `run` return, and `machine` of what `scan` returns.
"""
