"""Letters and colours in pictures of sweeps."""

import math
import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

import nandlab
from nandlab.sweeping import Point, Sweep, axes, goals, lettering, shading
from nandlab.sweeping.charts import pictures
from nandlab.sweeping.page import sweep_page

SMALL = nandlab.Experiment(
    workload=nandlab.workload.uniform(requests=3000),
    ftl=nandlab.ftl.page(),
    device=nandlab.Device(capacity="8 MiB", over_provisioning=0.5),
)

HELVETICA = dict(
    zip(
        " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
        (
            *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
            *([556] * 10 + [278, 278, 584, 584, 584, 556, 1015]),
            *(667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833),
            *(722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611),
            *(278, 278, 278, 469, 556, 333),
            *(556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833),
            *(556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500),
            *(334, 260, 334, 584),
        ),
        strict=True,
    )
)
"""Thousandths of the size: the widths of Helvetica as Adobe publishes them."""


def length(text, size):
    return size / 1000 * sum(HELVETICA.get(letter, 556) for letter in text)


def moved(transform, at):
    """What a translation and a rotation make of a place and an angle."""
    x, y, angle = at
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform or ""):
        one = [float(number) for number in re.split(r"[ ,]+", numbers.strip())]
        if name == "translate":
            dx, dy = one[0], one[1] if len(one) > 1 else 0.0
            x += dx * math.cos(angle) - dy * math.sin(angle)
            y += dx * math.sin(angle) + dy * math.cos(angle)
        elif name == "rotate":
            angle += math.radians(one[0])
    return x, y, angle


def boxes(svg):
    """The corners of each line of letters in a picture, with its text."""
    found = []

    def walk(element, at):
        at = moved(element.get("transform"), at)
        if element.tag.endswith("}text") and float(element.get("opacity", 1)) > 0:
            size = float(element.get("font-size").removesuffix("px"))
            parts = [part for part in element if part.tag.endswith("}tspan")] or [element]
            for line, part in enumerate(parts):
                text = part.text or ""
                long = length(text, size)
                start = {"start": 0, "middle": -long / 2, "end": -long}[element.get("text-anchor", "start")]
                base = line * size * 1.1
                if text.strip():
                    cos, sin = math.cos(at[2]), math.sin(at[2])
                    corners = [
                        (at[0] + u * cos - v * sin, at[1] + u * sin + v * cos)
                        for u, v in (
                            (start, base - 0.72 * size),
                            (start + long, base - 0.72 * size),
                            (start + long, base + 0.15 * size),
                            (start, base + 0.15 * size),
                        )
                    ]
                    found.append((text, corners))
        for inner in element:
            walk(inner, at)

    walk(ET.fromstring(svg), (0.0, 0.0, 0.0))
    return found


def overlap(one, other):
    """Whether two rectangles have a place in common: none of their sides sets them apart."""
    for corners in (one, other):
        for (x0, y0), (x1, y1) in ((corners[0], corners[1]), (corners[1], corners[2])):
            along = [[(x1 - x0) * x + (y1 - y0) * y for x, y in each] for each in (one, other)]
            if max(along[0]) <= min(along[1]) or max(along[1]) <= min(along[0]):
                return False
    return True


def overlaps(svg):
    return [(a, b) for (a, one), (b, other) in combinations(boxes(svg), 2) if overlap(one, other)]


def swept(vary, figures):
    """A sweep whose points have the goals `waf` and `time_us`, made from their number."""
    found = axes.axes_of(vary)
    texts = [()]
    for axis in found:
        texts = [(*before, text) for before in texts for text in axis.values]
    points = []
    for at, each in enumerate(texts):
        meant = [
            dict(zip(axis.values, axis.meant(), strict=True))[text]
            for axis, text in zip(found, each, strict=True)
        ]
        values = dict(zip([axis.key for axis in found], meant, strict=True))
        waf, time_us = figures(at)
        record = {"waf": waf, "time_us": time_us}
        points.append(Point(values, each, SMALL, str(at), record))
    return Sweep(found, [goals.goal_of(name) for name in ("waf", "time_us")], points)


def long_names(count):
    return ",".join(f"a_policy_with_a_rather_long_name_{at}" for at in range(count))


HARD = {
    "a crowded front": ({"ftl.page.victim": long_names(40)}, lambda at: (1 + at / 40, 900 - 20 * at)),
    "a front of decades": ({"ftl.page.victim": long_names(30)}, lambda at: (1.5**at, 1e9 / 2**at)),
    "12 long names": ({"ftl.page.victim": long_names(12)}, lambda at: (1 + at % 5, 7.0)),
    "90 long names": ({"ftl.page.victim": long_names(90)}, lambda at: (1 + at % 5, 7.0)),
    "6 colours and 12 panels": (
        {
            "ftl.page.victim": long_names(8),
            "buffer.lru.bytes": long_names(6),
            "fs": long_names(3),
            "workload": long_names(4),
        },
        lambda at: (1 + at % 11, 5 + at % 3),
    ),
    "a grid": (
        {"ftl.page.victim": long_names(20), "device.over_provisioning": "0.07..0.5:30"},
        lambda at: (1 + at, 5 + at % 3),
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_no_letters_overlap(name):
    vary, figures = HARD[name]
    drawn = pictures(swept(vary, figures))
    assert {key: overlaps(svg) for key, svg in drawn.items()} == dict.fromkeys(drawn, [])


def test_an_overlap_is_found():
    text = '<text transform="translate({},9)" font-size="10px">page map</text>'
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><g transform="translate(5,5)">{}</g></svg>'
    assert overlaps(svg.format(text.format(0) + text.format(20))) == [("page map", "page map")]
    assert overlaps(svg.format(text.format(0) + text.format(60))) == []


def test_some_points_of_a_crowded_front_have_names():
    vary, figures = HARD["a crowded front"]
    words = [text for text, _ in boxes(pictures(swept(vary, figures))["pareto"])]
    assert sum(text.startswith("a_policy") for text in words) >= 5


def test_names_are_no_narrower_than_helvetica():
    for text in ("hybrid_map, OP 28 %", "WAP-LRU", "illicit", "0.07", "page_bytes 16 KiB", long_names(2)):
        assert lettering.width(text, 10) >= length(text, 10)


def test_names_keep_off_points_and_edges():
    names = [("one", 2.0, 50.0), ("another", 98.0, 50.0)]
    found = lettering.placed(names, [(x, y) for _, x, y in names], (100.0, 100.0))
    assert [each.name for each in found] == ["one", "another"]
    assert all(each.x >= 0 and each.x + lettering.width(each.name) <= 100 for each in found)
    assert lettering.placed([("much too long a name", 50.0, 50.0)], [], (60.0, 100.0)) == []


def test_colours_follow_the_spread():
    assert shading.shades([1, 10, 100, 1000]) == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-3)
    # Little difference takes the whole range of colours; equal values take none.
    assert shading.shades([1.20, 1.21, 1.22]) == [0.0, 0.5, 1.0]
    assert shading.shades([3, 3, None]) == [0.0, 0.0, 0.0]
    # A linear scale would show the last alone, and 0 has no logarithm.
    assert shading.shades([0, 1, 2, 900]) == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-3)
    assert shading.shades([]) == []


def test_the_page_tells_the_range_of_its_colours():
    found = nandlab.sweep(SMALL, {"device.over_provisioning": [0.3, 0.5]}, goals=["waf"])
    low, high = sorted(found.figures(point)[0] for point in found.points)
    assert (
        f"Colours, from least to most: waf {low:.3f} to {high:.3f} ({100 * (high / low - 1):.0f} % more)."
        in (sweep_page(found, None))
    )


AXIS = re.compile(
    r'aria-label="([XY]-axis[^"]*)".*?<g class="mark-text role-axis-label"[^>]*>(.*?)</g>', re.DOTALL
)


def test_no_axis_of_a_report_has_more_than_ten_labels(nandlab_command, small, tmp_path):
    """Hidden labels and ticks without a word do not count."""
    longer = tmp_path / "longer.toml"
    longer.write_text(small.read_text(encoding="utf-8").replace("20000", "60000"), encoding="utf-8")
    for arguments in (("run", small), ("compare", small, longer), ("sweep", small, "--vary", "seed=1..12")):
        page = tmp_path / f"{arguments[0]}.html"
        ended = nandlab_command(*arguments, "--report", page)
        assert ended.status == 0, ended.err
        axes = AXIS.findall(page.read_text(encoding="utf-8"))
        assert axes
        for title, labels in axes:
            shown = [
                word
                for look, word in re.findall(r"<text([^>]*)>([^<]*)", labels)
                if 'opacity="0"' not in look
            ]
            # Names of things are as many as there are things.
            if "scale with" in title and "discrete" not in title:
                assert len(list(filter(None, shown))) <= 10, (arguments[0], title, shown)
