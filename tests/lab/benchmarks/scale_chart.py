"""Draw the chart of docs/howto/large_clusters.rst from the figures beside it: ``python -m tests.lab.benchmarks.scale_chart``.

The chart has its own background for light and dark mode, because the page may use either.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tests.lib.project import ROOT

FIGURES = ROOT / "docs/howto/large_clusters.json"
CHART = FIGURES.with_suffix(".svg")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 64, 180, 56, 52
STYLES = {"bring_up": "a", "check_fabric": "b", "rank_table": "c", "idle": "d"}
LABELS = {"idle": "tasks that do nothing"}
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360" role="img" font-family="sans-serif" font-size="13">
<title>CPU of the controller for each host, by the number of hosts</title>
<style>
.ground { fill: #ffffff } text { fill: #1c2024 } .grid { stroke: #c9ced4 } .dim { fill: #545b63 } path, circle { stroke-width: 2.5 } path { fill: none }
.a { stroke: #0b62b8 } .b { stroke: #a03a00 } .c { stroke: #14703c } circle.a { fill: #0b62b8 } circle.b { fill: #a03a00 } circle.c { fill: #14703c }
.d { stroke: #545b63; stroke-width: 1.5 } circle.d { fill: #545b63 }
.b { stroke-dasharray: 9 4 } .c { stroke-dasharray: 2.5 4 } circle { stroke-dasharray: none !important }
@media (prefers-color-scheme: dark) {
.ground { fill: #14171b } text { fill: #eceef0 } .grid { stroke: #4a525b } .dim { fill: #b0b8c0 }
.a { stroke: #6db3f8 } .b { stroke: #f0a070 } .c { stroke: #70cf98 } circle.a { fill: #6db3f8 } circle.b { fill: #f0a070 } circle.c { fill: #70cf98 }
.d { stroke: #b0b8c0 } circle.d { fill: #b0b8c0 }
}
</style>
<rect class="ground" width="720" height="360"/>
"""


def draw(figures: dict[str, Any]) -> str:
    plays = [play for play in figures["plays"] if play["playbook"] in STYLES]
    counts = sorted({play["hosts"] for play in plays})
    costs = {(play["playbook"], play["hosts"]): 1000 * play["cpu"] / play["hosts"] for play in plays}
    step = 10 ** math.floor(math.log10(max(costs.values())))
    top = step * math.ceil(max(costs.values()) / step)

    def x(hosts: int) -> float:
        """Return the horizontal position; the axis is logarithmic."""
        return LEFT + (math.log(hosts / counts[0]) / math.log(counts[-1] / counts[0])) * (WIDTH - LEFT - RIGHT)

    def y(cost: float) -> float:
        return HEIGHT - BOTTOM - cost / top * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="26" font-size="15" font-weight="bold">CPU of the controller for each host, in milliseconds</text>',
             f'<text class="dim" x="{LEFT}" y="44">flat: twice the hosts cost twice as much. {figures["date"]}, {figures["cores"]} cores</text>']
    for mark in range(0, int(top / step) + 1):
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y(mark * step):.1f}" x2="{WIDTH - RIGHT}" y2="{y(mark * step):.1f}"/>')
        parts.append(f'<text class="dim" x="{LEFT - 8}" y="{y(mark * step) + 4:.1f}" text-anchor="end">{mark * step}</text>')
    for count in counts:
        parts.append(f'<text class="dim" x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle">{count:,}</text>')
    parts.append(f'<text class="dim" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">hosts</text>')
    labels: list[float] = []
    for name in sorted({name for name, _hosts in costs}, key=lambda name: -costs[name, counts[-1]]):
        points = [(x(count), y(costs[name, count])) for count in counts]
        line = " L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(f'<path class="{STYLES[name]}" d="M{line}"/>')
        for count, (across, down) in zip(counts, points):
            title = f"<title>{name}, {count} hosts: {costs[name, count]:.0f} ms</title>"
            parts.append(f'<circle class="{STYLES[name]}" cx="{across:.1f}" cy="{down:.1f}" r="4">{title}</circle>')
        at = max(points[-1][1] + 4, labels[-1] + 18 if labels else 0)
        labels.append(at)
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{at:.1f}">{LABELS.get(name, name)} {costs[name, counts[-1]]:.0f}</text>')
    return HEAD + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    CHART.write_text(draw(json.loads(Path(FIGURES).read_text())))


if __name__ == "__main__":
    main()
