"""What the options of a job are for the workload that it becomes: modelled, without effect here, or refused.

An option that would change the result and is not modelled is refused; one that would not is named once and
left out.
Values of modelled options are checked by the core, which knows their ranges.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lanewise.tools.job_file import block_sizes, numbers
from lanewise.tools.job_file.drives import paths_in
from lanewise.tools.job_file.text import Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.tools.job_file.drives import Drive
    from lanewise.tools.job_file.text import JobFile, Mistakes, Section

ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "timeout": "runtime",
    "wait_for_previous": "stonewall",
    "mem": "iomem",
}
"""Second names of options."""

_WITHOUT_EFFECT = frozenset(
    {
        "allow_file_create", "allrandrepeat", "buffer_compress_chunk", "buffer_compress_percentage",
        "buffer_pattern", "bwavgtime", "clat_percentiles", "clocksource", "create_on_open", "create_only",
        "create_serialize", "description", "disable_bw_measurement", "disable_clat", "disable_lat",
        "disable_slat", "disk_util", "exec_postrun", "exec_prerun", "fallocate", "file_append",
        "gtod_reduce", "invalidate", "iopsavgtime", "ioscheduler", "lat_percentiles", "log_avg_msec",
        "log_hist_msec", "log_max_value", "log_offset", "log_unix_epoch", "name", "norandommap",
        "overwrite", "per_job_logs", "percentile_list", "pre_read", "random_generator",
        "randrepeat", "randseed", "refill_buffers", "scramble_buffers", "significant_figures",
        "slat_percentiles", "softrandommap", "thread", "unit_base", "unlink", "verify_state_save",
        "write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log", "zero_buffers",
    }
)  # fmt: skip
"""Options about data, files, logs and the report: no drive compresses, and devices are not created."""

_NEEDED_VALUES = {
    "buffered": ("0", "set direct=1: the page cache is not modelled"),
    "bs_unaligned": ("0", "leave it out: blocks start at multiples of bs"),
    "do_verify": ("0", "leave it out: data is not verified"),
    "file_service_type": ("roundrobin", "leave it out: I/Os take turns over the files"),
    "iomem": ("malloc", "leave it out; --set workload.JOB.iomem=ENDPOINT is the memory of a device"),
    "iodepth_batch": ("1", "leave it out: I/Os are submitted one by one"),
    "iodepth_batch_submit": ("1", "leave it out: I/Os are submitted one by one"),
    "iodepth_batch_complete": ("1", "leave it out: each completion is taken as it comes"),
    "iodepth_batch_complete_min": ("1", "leave it out: each completion is taken as it comes"),
    "loops": ("1", "set time_based and runtime to go on"),
    "nrfiles": ("1", "name the devices with filename=A:B"),
    "offset": ("0", "leave it out: a job starts at the beginning of each drive"),
    "random_distribution": ("random", "leave it out: every block is as likely as any other"),
    "rate_process": ("linear", "leave it out: a rate spaces I/Os evenly"),
    "startdelay": ("0", "leave it out, or let the job wait with stonewall"),
    "sync": ("0", "leave it out: writes are complete when the drive says so"),
    "thinktime_blocks_type": ("complete", "leave it out: completed I/Os are counted"),
    "thinktime_spin": ("0", "leave it out: a pause costs no processor time"),
    "unified_rw_reporting": ("none", "leave it out: reads and writes are reported apart"),
}
"""Options of which one value says what the model does anyway, and what to do about another one."""

_REASONS = {
    "blockalign": "random blocks start at multiples of bs",
    "cpus_allowed": "each clone has a core of its own; `nvme.cores` of the host says how many there are",
    "directory": "there is no file system; name the device: filename=/dev/nvme0n1",
    "gpu_dev_ids": "a scenario has names: --set 'workload.JOB.gpu_dev_ids=[\"gpu[*]\"]'",
    "filesize": "there is no file system; size says how much of a device is used",
    "io_size": "a job moves `size`, or goes on with time_based until runtime",
    "number_ios": "a job moves `size`, or goes on with time_based until runtime",
    "rwmixcycle": "directions are drawn for each I/O",
}
"""Why some are refused; the others are just not modelled."""

_READ = (
    *("rw", "bs", "bsrange", "bssplit", "ioengine", "size", "filename", "kb_base", "stonewall", "new_group"),
    *("ramp_time", "rwmixwrite"),
)
_COUNTS = ("iodepth", "numjobs", "rwmixread", "thinktime_blocks")
_FLAGS = ("direct", "time_based", "group_reporting", "hipri")
_TIMES = {"runtime": "s", "thinktime": "us"}
_RATES = {"rate": " B/s", "rate_iops": ""}
_MIXES = ("rw", "readwrite", "randrw")
_APART = "write a section for reads and one for writes"
_MODELLED = (*_READ, *_COUNTS, *_FLAGS, *_TIMES, *_RATES)


@dataclass
class Job:
    """A section, translated."""

    section: Section
    title: str
    """Name in the report: of its section, or what it says itself."""
    workload: str = ""
    """Name of its workload."""
    options: list[tuple[str, str, int]] = field(default_factory=list)
    """Key, value and line, as the core takes them."""
    after_others: bool = False
    new_group: bool = False
    """Whether a group of its own begins with it, in the same run."""
    together: bool = False
    """Whether it is reported with its group."""
    clones: int = 1
    ramp_us: int = 0
    runtime: Option | None = None
    without_effect: dict[str, int] = field(default_factory=dict)
    """Lines of the options that are left out."""


def files_of(section: Section) -> list[str]:
    """Return what the section's `filename` names."""
    option = section.effective(ALIASES).get("filename")
    return paths_in(option.value or "") if option else []


def refuse_page_cache(sections: Iterable[Section], mistakes: Mistakes) -> None:
    """Refuse fio's default where jobs do not say `direct`; once, at the first of them."""
    for section in sections:
        if not {"direct", "buffered"} & section.effective(ALIASES).keys():
            hint = (
                "fio's default, direct=0, goes through the page cache, which is not modelled; add direct=1 "
                "to [global], or to each job"
            )
            mistakes.add(section.line, f"the job `{section.name}` has no `direct=1`", hint)
            return


def translate(file: JobFile, section: Section, drives: Mapping[str, Drive], mistakes: Mistakes) -> Job:
    """Translate one section; `drives` has the drive of each device that has one."""
    return _Translation(file, section, drives, mistakes).job()


class _Translation:
    def __init__(
        self, file: JobFile, section: Section, drives: Mapping[str, Drive], mistakes: Mistakes
    ) -> None:
        self._file = file
        self._written = section.effective(ALIASES)
        self._section = section
        self._drives = drives
        self._mistakes = mistakes
        name = self._written.get("name")
        self._job = Job(section, (name.value if name else None) or section.name)
        self._kb_base = 1024

    def job(self) -> Job:
        self._check_keys()
        self._kb_base = self._base()
        self._pattern()
        self._add_all()
        self._files()
        return self._job

    def _refuse(self, option: Option, message: str, hint: str) -> None:
        self._mistakes.add(option.line, message, hint)

    def _add(self, key: str, value: str, line: int) -> None:
        self._job.options.append((key, value, line))

    def _check_keys(self) -> None:
        for key, option in self._written.items():
            if key in _MODELLED:
                continue
            if key in _WITHOUT_EFFECT:
                if key != "name":
                    self._job.without_effect[key] = option.line
            elif key in _NEEDED_VALUES:
                needed, hint = _NEEDED_VALUES[key]
                if option.value != needed:
                    self._refuse(option, f"`{key}` is modelled with the value {needed} only", hint)
            else:
                close = get_close_matches(key, [*_MODELLED, *ALIASES], n=1, cutoff=0.8)
                why = (
                    f"did you mean `{close[0]}`?" if close else "remove it if the result does not rest on it"
                )
                self._refuse(option, f"`{key}` is not modelled", _REASONS.get(key, why))

    def _base(self) -> int:
        option = self._written.get("kb_base")
        if option is None or option.value in ("1000", "1024"):
            return int(option.value) if option and option.value else 1024
        self._refuse(option, f"`kb_base` is `{option.value}`", "it is 1024, the default, or 1000")
        return 1024

    def _number(self, option: Option, text: str | None = None) -> int | None:
        text = option.value if text is None else text
        value = numbers.number(text or "", self._kb_base)
        if value is None:
            hint = "a whole number, which may have k, m, g or t behind it, such as 4k"
            self._refuse(option, f"`{option.key}` is `{text or ''}`, which is no number", hint)
        return value

    def _time(self, key: str, unit: str) -> int:
        option = self._written.get(key)
        if option is None:
            return 0
        value = numbers.microseconds(option.value or "", unit)
        if value is None:
            hint = f"a whole number with d, h, m, s, ms or us behind it; {unit} without"
            self._refuse(option, f"`{option.key}` is `{option.value or ''}`, which is no time", hint)
        return value or 0

    def _flag(self, option: Option) -> bool:
        if option.value not in (None, "0", "1"):
            self._refuse(option, f"`{option.key}` is `{option.value}`", "it is 0 or 1")
        return option.value != "0"

    def _pattern(self) -> None:
        option = self._written.get("rw", Option("rw", "read", self._section.line))
        self._pattern_word = option.value or ""
        self._add("rw", json.dumps(self._pattern_word), option.line)
        writes = self._written.get("rwmixwrite")
        if writes is not None and (share := self._number(writes)) is not None:
            self._add("rwmixread", str(100 - share), writes.line)

    @staticmethod
    def _by_direction(option: Option) -> tuple[str, str]:
        """Return what a value says of reads, and of writes."""
        parts = [part.strip() for part in (option.value or "").split(",")]
        return parts[0], parts[1] if len(parts) > 1 else parts[0]

    def _of_direction(self, option: Option) -> str | None:
        """Of values for reads, writes and trims return the one that counts; a mix has one for both.

        One that does not end with a comma holds for the directions after it.
        """
        read, write = self._by_direction(option)
        if self._pattern_word in ("read", "randread"):
            return read or None
        if self._pattern_word in ("write", "randwrite") or read == write:
            return write or None
        if self._pattern_word in _MIXES:
            message = f"`{option.key}` differs between the directions of a mix"
            self._refuse(option, message, _APART)
        return None

    def _add_all(self) -> None:
        for key in _COUNTS:
            option = self._written.get(key)
            if option is not None and (value := self._number(option)) is not None:
                self._add(key, str(value), option.line)
                if key == "numjobs":
                    self._job.clones = value
        for key in _FLAGS:
            option = self._written.get(key)
            if option is not None:
                self._add(key, "true" if self._flag(option) else "false", option.line)
        together = self._written.get("group_reporting")
        self._job.together = together is not None and self._flag(together)
        engine = self._written.get("ioengine")
        if engine is not None:
            self._add("ioengine", json.dumps(engine.value or ""), engine.line)
        self._add_times()
        self._add_blocks()
        self._add_rates()

    def _add_times(self) -> None:
        times = {key: self._time(key, unit) for key, unit in _TIMES.items()}
        self._job.ramp_us = self._time("ramp_time", "s")
        if times["runtime"]:
            # The time of the ramp is not part of it.
            times["runtime"] += self._job.ramp_us
            self._job.runtime = self._written["runtime"]
        for key, value in times.items():
            if value:
                self._add(key, f"{value} us", self._written[key].line)
        self._job.after_others, self._job.new_group = (
            key in self._written and self._flag(self._written[key]) for key in ("stonewall", "new_group")
        )

    def _add_blocks(self) -> None:
        """Add the sizes; fio takes `bssplit` or `bsrange` before `bs`, wherever that stands."""
        key = next((key for key in ("bssplit", "bsrange", "bs") if key in self._written), None)
        if key is None:
            return
        if key == "bssplit" and "bsrange" in self._written:
            self._refuse(self._written["bsrange"], "`bsrange` beside `bssplit`", "leave one of the two out")
            return
        option = self._written[key]
        read, write = self._by_direction(option)
        of_write_jobs = self._pattern_word in ("write", "randwrite")
        sizes = {"bs": write if of_write_jobs else read}
        if self._pattern_word in _MIXES and read != write:
            sizes["bs_write"] = write
        for name, text in sizes.items():
            if text and (value := self._block_sizes(key, option, text)) is not None:
                self._add(name, value, option.line)

    def _block_sizes(self, key: str, option: Option, text: str) -> str | None:
        """Return sizes of one direction as the core has them."""
        if key == "bs":
            value = self._number(option, text)
            return None if value is None else f"{value} B"
        read = block_sizes.bssplit if key == "bssplit" else block_sizes.bsrange
        try:
            return json.dumps(read(text, self._kb_base))
        except block_sizes.NoSizesError as error:
            self._refuse(option, f"`{option.key}` is `{text}`: {error}", error.hint)
            return None

    def _add_rates(self) -> None:
        for key, unit in _RATES.items():
            option = self._written.get(key)
            if option is None:
                continue
            if self._pattern_word in _MIXES:
                message = f"`{key}` holds each direction of a mix by itself, which is not modelled"
                self._refuse(option, message, _APART)
            elif (text := self._of_direction(option)) and (value := self._number(option, text)):
                self._add(key, f"{value}{unit}", option.line)

    def _files(self) -> None:
        option = self._written.get("filename")
        paths = paths_in(option.value or "") if option else []
        if option is None or not paths:
            hint = "fio would make files of its own; name the device: filename=/dev/nvme0n1"
            line = self._section.line if option is None else option.line
            self._mistakes.add(line, f"the job `{self._section.name}` has no `filename`", hint)
            return
        for path in paths:
            if path not in self._drives:
                kind = "is given no drive of the rig" if path.startswith("/dev/") else "is no device"
                self._refuse(option, f"`{path}` {kind}", f"say which one it is: --map {path}=DRIVE")
        used = [self._drives[path] for path in paths if path in self._drives]
        self._add("filename", json.dumps([drive.name for drive in used]), option.line)
        self._size(used)

    def _size(self, used: list[Drive]) -> None:
        option = self._written.get("size")
        if option is None or not used:
            return
        share = numbers.percent(option.value or "")
        if share is not None:
            if share < 100:
                smallest = min(drive.capacity_bytes for drive in used)
                self._add("size", f"{smallest * share // 100} B", option.line)
        elif (value := self._number(option)) is not None:
            # fio divides it between the files.
            self._add("size", f"{value // len(used)} B", option.line)
