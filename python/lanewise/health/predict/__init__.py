"""What the devices of a machine should reach under the benchmarks that people run on them.

    from lanewise.machine import read
    from lanewise.health.predict import predict

    for row in predict(read("lspci.txt")).rows:
        print(row.bdf, row.benchmark, row.ceiling_gb_per_s, row.alone_gb_per_s, row.binding)

Each device is simulated alone on its way to the root, and with all others at once; every register that
matters is the machine's own. What a dump cannot tell is assumed, and said (`assumptions`): latencies and
memory of the host, and that no device is slower than its link. Drives are given infinitely fast media for
bandwidth, so that the number says what PCI Express and the NVMe protocol allow, not what a drive of some make
does.
"""

from __future__ import annotations

from lanewise.health.predict.prediction import Prediction as Prediction
from lanewise.health.predict.prediction import predict as predict
from lanewise.health.predict.simulator import Row as Row
