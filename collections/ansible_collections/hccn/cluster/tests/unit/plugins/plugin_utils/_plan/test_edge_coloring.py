from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.edge_coloring import color_edges


def test_a_triangle_needs_three_colors():
    assert color_edges([("a", "b"), ("b", "c"), ("c", "a")]) == [0, 1, 2]


def test_a_path_needs_two_colors_and_the_larger_comes_first():
    assert color_edges([(1, 2), (2, 3), (3, 4)]) == [0, 1, 0]
    assert color_edges([]) == []


@pytest.mark.parametrize("seed", range(60))
def test_colors_are_at_most_one_more_than_the_largest_degree(seed):
    generator = random.Random(seed)
    edges = [edge for edge in combinations(range(generator.randint(2, 24)), 2) if generator.random() < 0.2 + seed / 70]
    generator.shuffle(edges)
    colours = color_edges(edges)
    degrees = Counter(end for edge in edges for end in edge)
    assert len(set(colours)) == max(colours, default=-1) + 1 <= max(degrees.values(), default=0) + 1
    ends = [(end, colour) for edge, colour in zip(edges, colours) for end in edge]
    assert len(set(ends)) == len(ends)
    sizes = Counter(colours)
    assert [sizes[colour] for colour in range(len(sizes))] == sorted(sizes.values(), reverse=True)
