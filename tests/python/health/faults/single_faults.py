"""Single faults in dumps of real machines, and what has to be found: device, rule, least severity.

The dumps are in a folder of their own (`test_single_faults`); what a machine shows without the fault is not
counted.
"""

from __future__ import annotations

from dump_edits import AER, EXPRESS, files, only_hex, only_words, registers, together, words
from fault import (
    DEVICES,
    ERROR,
    H100,
    INFO,
    LAMBDA,
    LAPTOP,
    OLD_TOWER,
    P6T6,
    P100,
    RTX,
    STORAGE,
    TOWER,
    VECTOR,
    WORKSTATION,
    X99,
    Fault,
)
from fault_kinds import (
    DEVCTL,
    bits,
    lanes,
    lanes_in_bytes,
    lanes_in_sysfs,
    payload,
    request,
    speed,
    speed_in_bytes,
    speed_in_sysfs,
)

LINKS = [
    Fault("a GPU of eight on half its lanes", H100, lanes(8, "39:01.0", "3b:00.0"), "3b:00.0", "link-width"),
    Fault("an adapter on half its lanes", H100, lanes(8, "39:02.0", "3c:00.0"), "3c:00.0", "link-width"),
    Fault("a drive on half its lanes", H100, lanes(2, "39:00.0", "3a:00.0"), "3a:00.0", "link-width"),
    Fault("a switch on half its lanes", H100, lanes(8, "37:01.0", "38:00.0"), "38:00.0", "link-width"),
    Fault(
        "an idle GPU on a quarter of its lanes", RTX, lanes(4, "02:03.0", "06:00.0"), "06:00.0", "link-width"
    ),
    Fault("ten gigabit ports on one lane", RTX, lanes(1, "e0:01.4", "e1:00.0"), "e1:00.0", "link-width"),
    Fault("a P100 on half its lanes", P100, lanes(8, "00:02.0", "04:00.0"), "04:00.0", "link-width"),
    Fault("a drive on one lane", P100, lanes(1, "80:01.0", "81:00.0"), "81:00.0", "link-width"),
    Fault("an HBA on half its lanes", STORAGE, lanes(4, "3a:00.0", "3b:00.0"), "3b:00.0", "link-width"),
    Fault("a backplane's switch on half", STORAGE, lanes(8, "ae:00.0", "af:00.0"), "af:00.0", "link-width"),
    Fault(
        "a workstation's drive on two", WORKSTATION, lanes(2, "15:02.0", "17:00.0"), "17:00.0", "link-width"
    ),
    Fault("a laptop's drive on one lane", LAPTOP, lanes(1, "00:1d.0", "04:00.0"), "04:00.0", "link-width"),
    Fault("an InfiniBand adapter on half", TOWER, lanes(4, "00:03.0", "02:00.0"), "02:00.0", "link-width"),
    Fault(
        "a 4090 on half, in words",
        LAMBDA,
        together(only_words, lanes(8, "40:01.1", "41:00.0")),
        "41:00.0",
        "link-width",
    ),
    Fault(
        "a Radeon on half, in bytes",
        X99,
        together(only_hex, lanes_in_bytes(4, "00:02.0", "03:00.0")),
        "03:00.0",
        "link-width",
    ),
    Fault("an HBA on half, in bytes", P6T6, lanes_in_bytes(4, "03:00.0", "04:00.0"), "04:00.0", "link-width"),
    Fault(
        "a vector engine on half, in sysfs",
        VECTOR,
        lanes_in_sysfs(8, "19:08.0", "1b:00.0"),
        "1b:00.0",
        "link-width",
    ),
    Fault(
        "an adapter whose port is not in the dump",
        DEVICES,
        lanes(8, "21:00.0"),
        "21:00.0",
        "link-one-end",
        INFO,
    ),
    Fault("an adapter at half its speed", H100, speed(16, "39:02.0", "3c:00.0"), "3c:00.0", "link-speed"),
    Fault("a drive at half its speed", H100, speed(8, "39:00.0", "3a:00.0"), "3a:00.0", "link-speed"),
    Fault("a GPU at half its speed, awake", H100, speed(16, "39:01.0", "3b:00.0"), "3b:00.0", "link-speed"),
    Fault("a drive at Gen1", P100, speed(2.5, "80:01.0", "81:00.0"), "81:00.0", "link-speed"),
    Fault(
        "a workstation's drive at Gen1",
        WORKSTATION,
        speed(2.5, "15:03.0", "16:00.0"),
        "16:00.0",
        "link-speed",
    ),
    Fault("a fast drive at Gen2", STORAGE, speed(5, "17:00.0", "18:00.0"), "18:00.0", "link-speed"),
    Fault("an FPGA on half its lanes", OLD_TOWER, lanes(4, "00:02.0", "02:00.0"), "02:00.0", "link-width"),
    Fault("a laptop's drive at Gen2", LAPTOP, speed(5, "00:1d.0", "04:00.0"), "04:00.0", "link-speed"),
    Fault("an InfiniBand adapter at Gen2", TOWER, speed(5, "00:03.0", "02:00.0"), "02:00.0", "link-speed"),
    Fault("an FPGA at Gen1", OLD_TOWER, speed(2.5, "00:02.0", "02:00.0"), "02:00.0", "link-speed"),
    Fault(
        "a drive at half, in bytes",
        LAMBDA,
        together(only_hex, speed_in_bytes(8, "22:00.0", "23:00.0")),
        "23:00.0",
        "link-speed",
    ),
    Fault(
        "an adapter at Gen2, in sysfs",
        VECTOR,
        speed_in_sysfs("5.0 GT/s PCIe", "3c:08.0", "3e:00.0"),
        "3e:00.0",
        "link-speed",
    ),
    Fault(
        "a vector engine at Gen1, in old words",
        VECTOR,
        speed_in_sysfs("2.5 GT/s", "3c:0c.0", "3f:00.0"),
        "3f:00.0",
        "link-speed",
    ),
]

PACKETS = [
    Fault(
        "a GPU sends more than its port takes",
        H100,
        payload(128, "39:01.0"),
        "3b:00.0",
        "mps-mismatch",
        ERROR,
    ),
    Fault(
        "a port sends more than a drive takes",
        P100,
        payload(128, "81:00.0"),
        "81:00.0",
        "mps-mismatch",
        ERROR,
    ),
    Fault(
        "an HBA sends more than its port takes",
        STORAGE,
        payload(512, "3b:00.0"),
        "3b:00.0",
        "mps-mismatch",
        ERROR,
    ),
    Fault(
        "the same in bytes",
        P6T6,
        registers("04:00.0", EXPRESS, DEVCTL, 0xE0, 1 << 5),
        "04:00.0",
        "mps-mismatch",
        ERROR,
    ),
    Fault("a GPU that asks for 128 B at a time", H100, request(128, "3b:00.0"), "3b:00.0", "mrrs-small"),
    Fault("an adapter that asks for 128 B at a time", H100, request(128, "3c:00.0"), "3c:00.0", "mrrs-small"),
    Fault(
        "an adapter with 32 tags",
        H100,
        together(words("3c:00.0", r"(RlxdOrd[-+] ExtTag)\+", r"\1-"), request(512, "3c:00.0")),
        "3c:00.0",
        "tags-few",
    ),
    Fault(
        "reads that time out at once",
        P100,
        words("81:00.0", r"(DevCtl2: Completion Timeout: )[^,]+", r"\g<1>50us to 100us"),
        "81:00.0",
        "completion-timeout",
    ),
    Fault(
        "more virtual functions than a bus holds",
        STORAGE,
        together(
            words("5d:02.0", r"(DevCtl2:.*ARIFwd)\+", r"\1-"),
            bits("5f:00.0", "IOVCtl", "Enable"),
            words("5f:00.0", "Number of VFs: 0", "Number of VFs: 16"),
        ),
        "5f:00.0",
        "sriov-without-ari",
    ),
    Fault(
        "redirected peers of eight GPUs",
        H100,
        together(*(bits(port, "ACSCtl", "ReqRedir", "CmpltRedir") for port in ("39:01.0", "39:02.0"))),
        "38:00.0",
        "acs-redirect",
    ),
    Fault(
        "redirected GPUs below one switch",
        RTX,
        together(*(bits(port, "ACSCtl", "ReqRedir", "CmpltRedir") for port in ("02:03.0", "02:04.0"))),
        "01:00.0",
        "acs-redirect",
    ),
]

ERRORS = [
    Fault(
        "a GPU's read was never answered",
        H100,
        bits("3b:00.0", "UESta", "CmpltTO"),
        "3b:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "a drive's link lost data", P100, bits("80:01.0", "UESta", "DLP"), "80:01.0", "uncorrectable-errors"
    ),
    Fault(
        "a drive sent a malformed packet",
        STORAGE,
        bits("17:00.0", "UESta", "MalfTLP"),
        "17:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "a port took a poisoned packet",
        RTX,
        bits("e0:01.4", "UESta", "TLP"),
        "e0:01.4",
        "uncorrectable-errors",
    ),
    Fault(
        "a laptop's drive lost a completion",
        LAPTOP,
        bits("04:00.0", "UESta", "CmpltTO"),
        "04:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "a link replays",
        WORKSTATION,
        bits("16:00.0", "CESta", "BadTLP", "Rollover"),
        "16:00.0",
        "link-errors",
    ),
    Fault(
        "a laptop's link replays",
        LAPTOP,
        bits("04:00.0", "CESta", "RxErr", "BadDLLP", "Rollover"),
        "04:00.0",
        "link-errors",
    ),
    Fault(
        "errors on a link that lost lanes",
        TOWER,
        together(bits("00:03.0", "CESta", "RxErr"), lanes(4, "00:03.0", "02:00.0")),
        "02:00.0",
        "link-errors",
    ),
    Fault(
        "uncorrectable errors in bytes",
        X99,
        together(only_hex, registers("03:00.0", AER, 0x04, 0, 1 << 14, size=4)),
        "03:00.0",
        "uncorrectable-errors",
    ),
    Fault(
        "replays in bytes",
        X99,
        together(only_hex, registers("03:00.0", AER, 0x10, 0, 1 << 6 | 1 << 8, size=4)),
        "03:00.0",
        "link-errors",
    ),
    Fault(
        "the kernel counted fatal errors",
        VECTOR,
        files(aer_dev_fatal="Undefined 0\nDLP 2\nSDES 0\nTLP 0\nTOTAL_ERR_FATAL 2\n")("1b:00.0"),
        "1b:00.0",
        "uncorrectable-errors",
        ERROR,
    ),
    Fault(
        "the kernel counted bad packets",
        VECTOR,
        files(aer_dev_correctable="RxErr 31\nBadTLP 5120\nBadDLLP 12\nRollover 0\nTOTAL_ERR_COR 5163\n")(
            "3f:00.0"
        ),
        "3f:00.0",
        "link-errors",
    ),
    Fault(
        "a port holds its link down",
        H100,
        bits("39:01.0", "DpcSta", "Trigger"),
        "39:01.0",
        "dpc-triggered",
        ERROR,
    ),
    Fault(
        "a laptop's port holds its link down",
        LAPTOP,
        bits("00:1d.0", "DpcSta", "Trigger"),
        "00:1d.0",
        "dpc-triggered",
        ERROR,
    ),
    Fault(
        "lanes with errors",
        H100,
        words("3c:00.0", r"LaneErrStat: .*", "LaneErrStat: LaneErr at lane: 3"),
        "3c:00.0",
        "lane-errors",
        INFO,
    ),
]

LOST = [
    Fault(
        "a drive that was reset under its driver",
        P100,
        together(
            words("81:00.0", r"(Control: I/O- Mem)\+ BusMaster\+", r"\1- BusMaster-"),
            words("81:00.0", r"(Region 0: Memory at \w+ \([^)]*\)) ", r"\1 [virtual] "),
        ),
        "81:00.0",
        "configuration-lost",
        ERROR,
    ),
    Fault(
        "a drive that decodes nothing",
        H100,
        words("3a:00.0", r"(Control: I/O[-+] Mem)\+", r"\1-"),
        "3a:00.0",
        "configuration-lost",
        ERROR,
    ),
    Fault(
        "an adapter that may not start DMA",
        WORKSTATION,
        words("e2:00.0", r"BusMaster\+", "BusMaster-"),
        "e2:00.0",
        "configuration-lost",
    ),
]

FAULTS = [*LINKS, *PACKETS, *ERRORS, *LOST]
