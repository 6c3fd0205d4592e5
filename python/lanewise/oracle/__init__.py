"""Closed forms that bound a simulated run from above, written a second time on purpose.

Nothing here shares code or constants with the Rust core: every number is typed again from its source, and
where there is a choice the arithmetic goes another way (exact fractions of symbols instead of ticks, a map of
bytes instead of a counter). If the two disagree, one of them is wrong. Standard library only.

- ``wire``: sizes of TLPs and DLLPs, coding, SKP ordered sets, payload ceilings.
- ``flit``: Flit Mode, its ceilings and its packing.
- ``ack``: Ack latency and replay timer limits.
- ``flow_control``: what credits allow, and how many a loop needs.
- ``cxl``: lines of CXL.mem in slots and flits, over mixes, and their latency.
- ``reads``: what tags allow, completion sizes, and the DLLPs that reads put beside their completions.

Sources are sections and tables of PCIe Base 6.3 unless another is named. GB/s is 10^9 bytes per second, one
direction.

Known limits: ceilings know no DLLPs (except ``reads``), no EDS tokens (0.004 % at x16, 0.07 % at x1) and
no host.
"""
