"""The detection limit forecast before a run. tests/lab/fabric_simulation measures whether such limits hold."""

from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import forecast


def test_forecast_before_the_run():
    found = forecast({"hosts": 1024, "rails": list(range(8)), "pairs": 8192, "adaptive": False})
    assert found == {"spread_percent": 1.0, "smallest_drop_percent": {"npu": 6.1, "pair": 7.4}}
    noisier = forecast({"hosts": 1024, "rails": list(range(8)), "pairs": 8192, "adaptive": False}, spread=0.02)
    assert noisier["smallest_drop_percent"]["npu"] > 1.9 * found["smallest_drop_percent"]["npu"]
    assert forecast({"hosts": 64, "rails": [0], "pairs": 2016})["smallest_drop_percent"]["npu"] < 5
