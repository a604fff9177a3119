"""Draws the OpenLineage events of a run, as docs/lineage.svg: tasks, and what they read and wrote.

lineage_drawing.py EVENTS > docs/lineage.svg     EVENTS: a file transport's, a JSON event a line

Names that differ from run to run stand as RUN and FINGERPRINT. Left out are the run's small JSON
files, which almost every task reads, results of queries that nobody keeps, and the statements of a
script, whose task has the same.
"""

import json
import re
import sys
from collections import defaultdict
from html import escape
from pathlib import Path

WIDTH, HEIGHT, ROW, MARGIN = 246, 38, 66, 14
VARYING = (
    (r"/datasets/[^/]+", "/datasets/FINGERPRINT"),
    (r"/runs/[^/]+", "/runs/RUN"),
    (r"_[0-9a-f]{12,}", "_FINGERPRINT"),
)
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
font-family="DejaVu Sans, Helvetica, Arial, sans-serif">
<title>The OpenLineage events of one run</title>
<style>
.card{{fill:#fff;stroke:#cfd8dc}}.data{{fill:#fff8e6;stroke:#b58900}}
.task{{fill:#fff;stroke:#00796b;stroke-width:1.5}}.failed{{stroke:#b3261e;stroke-dasharray:5 3}}
.text{{font-size:13px;fill:#1c262b;text-anchor:middle}}
.space{{font-size:10.5px;fill:#5d4a00;text-anchor:middle}}
.mono{{font-size:10.5px;fill:#5d4a00;text-anchor:middle;\
font-family:DejaVu Sans Mono, Menlo, Consolas, monospace}}
.edge{{fill:none;stroke:#37474f;stroke-width:1.2;marker-end:url(#arrow)}}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0 0 8 4 0 8z" fill="#37474f"/></marker></defs>
<rect class="card" x="1" y="1" width="{right}" height="{bottom}" rx="10"/>
"""


def edges_of(events):
    """(from, to) for each product that a task read or wrote, and the tasks that failed.

    A task is (its name,), a product (namespace, name). Only the event of a task's end counts.
    """
    edges, failed = set(), set()
    for event in events:
        task = (event["job"]["name"].partition(".")[2],)
        if event["eventType"] not in ("COMPLETE", "FAIL") or not task[0] or ".query." in task[0]:
            continue
        if event["eventType"] == "FAIL":
            failed.add(task)
        edges |= {(product, task) for product in _products(event["inputs"])}
        edges |= {(task, product) for product in _products(event["outputs"])}
    return edges, failed


def _products(datasets):
    for product in datasets:
        name = product["name"]
        if name.endswith(".json") or "._query_results." in name:
            continue
        for varying, word in VARYING:
            name = re.sub(varying, word, name)
        yield product["namespace"], name


def svg(events):
    """The drawing."""
    edges, failed = edges_of(events)
    rows = _rows(edges, failed)
    most = max(map(len, rows))
    width = MARGIN + most * (WIDTH + MARGIN)
    height = MARGIN + len(rows) * ROW
    place = {
        node: (round(width * (2 * n + 1) / (2 * len(row))), MARGIN + y * ROW)
        for y, row in enumerate(rows)
        for n, node in enumerate(row)
    }
    drawn = [HEAD.format(width=width, height=height, right=width - 2, bottom=height - 2)]
    for start, end in sorted(edges, key=lambda edge: (place[edge[0]], place[edge[1]])):
        (x, y), (to_x, to_y) = place[start], place[end]
        y += HEIGHT
        middle = (y + to_y) // 2
        drawn.append(
            f'<path class="edge" d="M{x} {y}C{x} {middle} {to_x} {middle} {to_x} {to_y}"/>\n'
        )
    for node, (x, y) in place.items():
        kind = "data" if len(node) == 2 else "task failed" if node in failed else "task"
        round_ = 3 if len(node) == 2 else HEIGHT // 2
        left = x - WIDTH // 2
        drawn.append(
            f'<rect class="{kind}" x="{left}" y="{y}" width="{WIDTH}" height="{HEIGHT}" '
            f'rx="{round_}"/>\n'
        )
        lines = [("space", 15, node[0]), ("mono", 29, node[1])] if len(node) == 2 else []
        for style, below, text in lines or [("text", 24, node[0] + " (failed)" * (node in failed))]:
            drawn.append(f'<text class="{style}" x="{x}" y="{y + below}">{escape(text)}</text>\n')
    return "".join([*drawn, "</svg>\n"])


def _rows(edges, alone):
    """The nodes in rows: each below all that it comes from, near the middle of them."""
    before = defaultdict(set)
    for start, end in edges:
        before[end].add(start)
    depth: dict[tuple, int] = {}

    def depth_of(node):
        if node not in depth:
            depth[node] = 1 + max(map(depth_of, before[node]), default=-1)
        return depth[node]

    for node in {end for _, end in edges} | alone:
        depth_of(node)
    rows = [[] for _ in range(1 + max(depth.values()))]
    for node in sorted(depth):
        rows[depth[node]].append(node)
    where = {}
    for row in rows:
        row.sort(key=lambda node: (_middle(where, before[node]), node))
        where |= {node: (2 * n + 1) / len(row) for n, node in enumerate(row)}
    return rows


def _middle(where, nodes):
    return sum(where[node] for node in nodes) / len(nodes) if nodes else 1.0


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text().splitlines()
    print(svg(map(json.loads, lines)), end="")
