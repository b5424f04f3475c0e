from __future__ import annotations

import random

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.noise import Normal, cleared_by, gates, normal, tail_of


def noisy(count, spread, seed=0):
    generator = random.Random(seed)
    return [195 * (1 + spread * generator.gauss(0, 1)) for _number in range(count)]


def test_reference_and_spread_of_sound_values():
    found = normal(noisy(4000, 0.01))
    assert found.reference == pytest.approx(195, rel=0.001)
    assert found.spread == pytest.approx(0.01, rel=0.06)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.6])
def test_low_values_do_not_pull_the_reference_down(share):
    values = noisy(1000, 0.01)
    low = [value * 0.7 for value in values[:int(share * 1000)]]
    found = normal(low + values[int(share * 1000):])
    assert found.reference == pytest.approx(195, rel=0.005)
    assert 0.008 < found.spread < 0.012


def test_spread_of_values_rounded_to_three_digits():
    found = normal([float(f"{value:.3g}") for value in noisy(20000, 0.01)])
    assert found.spread == pytest.approx(0.01, rel=0.06)


def test_equal_values_have_the_least_spread():
    found = normal([195.0] * 50)
    assert (found.reference, found.spread, found.count) == (195.0, 0.005, 50)


def test_one_low_value_of_few_does_not_change_the_reference():
    assert normal([195.0, 194.0, 196.0, 150.0]).reference == 195.0


def test_few_values_are_trusted_less():
    few, many = normal([195.0] * 8), normal([195.0] * 8000)
    assert few.safe_spread > 1.5 * few.spread
    assert many.safe_spread < 1.03 * many.spread


def test_gates_of_a_large_run():
    gate = gates(normal(noisy(8192, 0.01)), 0.97, 8192, 8192)
    assert gate.bad == pytest.approx(0.034, rel=0.1)
    assert gate.certain == pytest.approx(0.052, rel=0.1)
    assert 1 - gate.good == pytest.approx((1 - gate.bad) ** 0.5)
    assert gate.chance == pytest.approx(0.00035, rel=0.1)


def test_a_drop_that_does_not_matter_is_never_bad():
    gate = gates(normal([195.0] * 8192), 0.9, 8192, 8192)
    assert (gate.bad, gate.certain) == (pytest.approx(0.1), pytest.approx(0.1))


@pytest.mark.parametrize("count, good", [(1, 1), (7, 1), (8, 2), (63, 2), (64, 3), (1023, 17)])
def test_number_of_good_values_that_clear_an_npu(count, good):
    assert cleared_by(count) == good


def test_a_floor_above_the_noise_of_slower_nics_names_nothing():
    """NICs at 93 % of the line rate with a spread of 2 %: the floor of 90 % is within their noise."""
    slower = gates(normal([0.93 * value for value in noisy(4000, 0.02)]), 0.97, 512, 4000)
    good, bad, certain = slower.limits(181.35, 175.5)
    assert 175 < good < 176.5 and 168 < bad < 170.5 and 160 < certain < 164, (good, bad, certain)
    assert slower.limits(170.0, 175.5) == (175.5, 175.5, 175.5), "a fabric that is slow as a whole is below the floor"


def test_the_tail_below_a_ceiling():
    generator = random.Random(3)
    tail = [generator.expovariate(100) for _number in range(4000)]
    assert tail_of(tail) == pytest.approx(0.01, rel=0.1)
    assert tail_of([0.0] * 3000 + tail[:1000]) == pytest.approx(0.01, rel=0.1), "most values are at the ceiling"
    assert tail_of([0.0] * 950 + [0.3] * 50) == 0.0, "a cluster of bad pairs is no tail"
    assert tail_of(tail[:30]) == 0.0
    wide = gates(Normal(195.0, 0.005, 4000, tail=0.01), 0.97, 512, 4000)
    assert (wide.bad, wide.certain) == (pytest.approx(0.064, abs=0.001), pytest.approx(0.141, abs=0.001))


def test_a_tenth_is_below_the_gates_of_a_large_spread():
    """Two values of an NPU and 16 in all, which vary by a fifth. On the scale of the values the gate was 120 % below the normal value."""
    wide = gates(Normal(200.0, 0.2, 16), 0.97, 8, 16)
    assert (wide.good, wide.bad, wide.certain) == (pytest.approx(0.303, abs=0.001), pytest.approx(0.514, abs=0.001), pytest.approx(0.704, abs=0.002))
    assert wide.limits(200.0, 0.0)[2] == pytest.approx(59.4, abs=0.5)


def test_estimates_of_the_spread_are_pooled():
    found = Normal(200.0, 0.1, 8).pooled(0.2, 24)
    assert (found.reference, found.spread, found.count) == (200.0, pytest.approx(0.180, abs=0.001), 32)
    assert Normal(200.0, 0.005, 8).pooled(0.0, 24).spread == 0.005


def test_a_floor_of_zero_is_none():
    assert gates(Normal(200.0, 0.01, 100), 0.0, 8, 100).bad == pytest.approx(1.0, abs=1e-5)
