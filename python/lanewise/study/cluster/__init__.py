"""Studies on a Ray cluster. Ray is imported when a study asks for it, and not before.

session.py    finds a cluster, or starts one on this machine; lets go of it
host.py       what runs on a node: an actor around the processes of `lanewise.study.pool`
versions.py   whether a node has the Lanewise, and the core, that this study has
runner.py     shares points among hosts; runs those of a lost one again
"""
