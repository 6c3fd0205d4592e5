# /// script
# dependencies = ["matplotlib"]
# ///
"""Draws the picture of the README from two runs of IDT-T5, read row: with the switch and without it.

    .venv/bin/python docs/img/with_and_without_a_switch.py    writes docs/img/with-and-without-a-switch.svg

Needs matplotlib, which nothing else here does.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt

import lanewise
from lanewise.rungs import COLOURS, rungs_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments" / "idt-t5"
PICTURE = Path(__file__).with_name("with-and-without-a-switch.svg")

_WRAPPED = {"after coding and ordered sets": "after coding,\nordered sets"}
USES = {
    "payload": ("payload", "#1f4e8c"),
    "header": ("headers", "#5b8fd0"),
    "framing": ("framing", "#a9c8ec"),
    "dllp": ("DLLPs", "#e6a23c"),
    "ordered_set": ("ordered sets", "#7a7a7a"),
    "blocked_posted_data": ("blocked: no posted credits", "#c0504d"),
    "idle": ("nothing to send", "#ececec"),
}


def main() -> None:
    """Run both scenarios and draw."""
    fitted = tomllib.loads((EXPERIMENT / "fitted.toml").read_text(encoding="utf-8"))["fitted"]
    overrides = {
        path: fit["value"] for fit in fitted for path in fit["parameters"] if path.startswith("server")
    }
    direct, switch = (
        {
            link["name"]: link
            for link in lanewise.run(EXPERIMENT / name, overrides=overrides).document["links"]
        }
        for name in ("direct.toml", "switch.toml")
    )
    bars = [
        ("adapter,\nslot of its own", direct["hba0"]["upstream"]),
        ("adapter,\nbehind the switch", switch["hba0"]["upstream"]),
        ("switch to host,\nboth adapters", switch["sw0"]["upstream"]),
    ]

    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "lanewise", "font.family": "DejaVu Sans"})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.5), width_ratios=(1, 1.55), layout="constrained"
    )
    _ladder(left, switch["sw0"]["upstream"]["ladder"])
    _attribution(right, bars)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


def _ladder(axes: Axes, ladder: dict[str, float]) -> None:
    rungs = rungs_of(ladder)
    values = [rung.gb_per_s for rung in rungs]
    axes.barh([_WRAPPED.get(rung.name, rung.name) for rung in rungs], values, color=COLOURS, height=0.62)
    for row, value in enumerate(values):
        axes.text(value + 0.04, row, f"{value:.3f}", va="center")
    axes.set_title(
        "Efficiency ladder of the switch's upstream link\nGen1 x8, GB/s (10⁹)", fontsize=9.5, loc="left"
    )
    axes.set_xlim(0, 1.2 * max(values))
    _tidy(axes)


def _attribution(axes: Axes, bars: list[tuple[str, dict[str, Any]]]) -> None:
    labels = [label for label, _ in bars]
    left = [0.0] * len(bars)
    for use, (name, colour) in USES.items():
        shares = [100 * direction["time_attribution"][use] for _, direction in bars]
        if max(shares) < 0.1:
            continue
        axes.barh(labels, shares, left=left, color=colour, label=name, height=0.62)
        for row, share in enumerate(shares):
            if share > 9:
                dark = use in {"payload", "blocked_posted_data"}
                axes.text(
                    left[row] + share / 2,
                    row,
                    f"{share:.0f} %",
                    ha="center",
                    va="center",
                    color="w" if dark else "k",
                )
        left = [start + share for start, share in zip(left, shares, strict=True)]
    axes.set_title("Where each link's time goes, towards the host, %", fontsize=9.5, loc="left")
    axes.set_xlim(0, 100)
    axes.legend(ncols=5, fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.4, -0.08))
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


if __name__ == "__main__":
    main()
