"""Small copies of a sweep through sizes: their time is the launch, and the verdict is about large ones."""

from __future__ import annotations

from machines import GPU, machine, pair

from lanewise.health.judge import JudgedCase, Verdict, judge
from lanewise.tools.instruments.cuda_samples import parse

SIZES = [1 << power for power in range(10, 28)]


def sweep(sizes: list[int], *, launch_us: float, gb_per_s: float) -> str:
    """Write what bandwidthTest --mode=shmoo prints of copies with a launch and a rate."""
    rows = "".join(
        f"   {size}\t\t\t{size / (launch_us * 1e-6 + size / (gb_per_s * 1e9)) / 1e9:.4f}\n" for size in sizes
    )
    return (
        "[CUDA Bandwidth Test] - Starting...\n Device 0: Example\n Host to Device Bandwidth, 1 Device(s)\n"
        f" PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n{rows}\nResult = PASS\n"
    )


def judged(
    sizes: list[int], *, launch_us: float, gb_per_s: float, now: str | None = None
) -> list[JudgedCase]:
    gpu = pair(port={"can": "16 x16"}, can="16 x16", now=now or "16 x16", class_code=GPU, vendor=0x10DE)
    text = sweep(sizes, launch_us=launch_us, gb_per_s=gb_per_s)
    return list(judge(parse(text), machine(*gpu.functions.values())).cases)


def test_small_copies_are_latency_bound_and_large_ones_as_good_as_it_gets() -> None:
    cases = judged(SIZES, launch_us=8.0, gb_per_s=26.5)
    verdicts = [case.verdict for case in cases]
    assert set(verdicts[:10]) == {Verdict.LATENCY}
    assert verdicts[-4:] == [Verdict.GOOD] * 4
    assert Verdict.HOST not in verdicts
    assert "8.0 us besides their bytes" in cases[0].evidence[0]


def test_large_copies_at_two_rates_are_no_launch() -> None:
    """A line through 8.1 GB/s at 64 MiB and 9.2 GB/s at 192 MiB begins at 1.4 ms, which no launch takes."""
    large = sweep([1 << 26], launch_us=0.0, gb_per_s=8.1), sweep([3 << 26], launch_us=0.0, gb_per_s=9.2)
    gpu = pair(port={"can": "16 x16"}, can="16 x16", class_code=GPU, vendor=0x10DE)
    cases = judge(parse("".join(large)), machine(*gpu.functions.values())).cases
    assert [case.verdict for case in cases] == [Verdict.HOST] * 2


def test_a_slow_host_shows_at_the_largest_sizes() -> None:
    verdicts = [case.verdict for case in judged(SIZES, launch_us=8.0, gb_per_s=6.0)]
    assert verdicts[0] is Verdict.LATENCY
    assert verdicts[-6:] == [Verdict.HOST] * 6


def test_a_fault_shows_at_the_largest_sizes_too() -> None:
    verdicts = [case.verdict for case in judged(SIZES, launch_us=8.0, gb_per_s=12.0, now="16 x8")]
    assert (verdicts[0], verdicts[-1]) == (Verdict.LATENCY, Verdict.WRONG)


def test_one_rate_at_all_sizes_is_no_latency() -> None:
    cases = judged([4 << 20, 32 << 20], launch_us=0.0, gb_per_s=6.0)
    assert [case.verdict for case in cases] == [Verdict.HOST] * 2


def test_a_copy_that_stands_alone_is_small_where_a_launch_explains_it() -> None:
    (small,) = judged([1024], launch_us=8.0, gb_per_s=26.5)
    (large,) = judged([32 << 20], launch_us=8.0, gb_per_s=6.0)
    assert (small.verdict, large.verdict) == (Verdict.LATENCY, Verdict.HOST)
