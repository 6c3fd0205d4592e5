"""What a fault is, and the dumps of real machines that faults are put into.

The dumps are in a folder of their own (`test_single_faults`).
"""

from __future__ import annotations

from dataclasses import dataclass

from dump_edits import Edit

from lanewise.health.doctor import Severity

WARNING, ERROR, INFO = Severity.WARNING, Severity.ERROR, Severity.INFO

H100 = "lspci-vvv/dell-xe9680-8xh100.vvv"
RTX = "lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv"
P100 = "lspci-vvv/dell-r730-p100.vvv"
STORAGE = "lspci-vvv/supermicro-6049p-pp.vvv"
WORKSTATION = "lspci-vvv/lenovo-p920-pp.vvv"
TOWER = "lspci-vvv/pcibench-dell-t630.vvv"
OLD_TOWER = "lspci-vvv/pcibench-dell-t620-snb.vvv"
LAPTOP = "lspci-vvv/lenovo-l490.vvv"
DEVICES = "lspci-vvv/stelline-wrx90-devices.vvv"
LAMBDA = "lspci-xxxx/lambda-vector-rtx4090.nnDvvvxxx"
X99 = "lspci-xxxx/huananzhi-x99-bd4.vvvxxxx"
KUNPENG = "lspci-vvv/huawei-qingyun-w510-kunpeng920.vvv"
P6T6 = "lspci-xxxx/pciutils-tree-asus-p6t6.xxxx"
VECTOR = "sysfs/nec-a300-8-8xve.tar.bz2"


@dataclass(frozen=True)
class Fault:
    """A fault, where it is put, and what has to be said of it."""

    name: str
    dump: str
    edit: Edit
    device: str
    rule: str
    least: Severity = WARNING
