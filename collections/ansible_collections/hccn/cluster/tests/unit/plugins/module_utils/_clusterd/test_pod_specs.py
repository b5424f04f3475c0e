"""What the specs of pods show of TaskD and MindIO."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import pod_specs


def pod(env=None, args=(), labels=None, ports=(), others=(), **more):
    container = {"name": "ascend", "env": [{"name": name, "value": value} for name, value in (env or {}).items()], "command": ["/bin/bash", "-c"],
                 "args": list(args), "ports": [{"containerPort": port, "name": "taskd-port"} for port in ports]}
    return dict({"metadata": {"name": "llama-0", "namespace": "train", "labels": labels}, "spec": {"containers": [*others, container]},
                 "status": {"phase": "Running"}}, **more)


def test_variables_of_ascend_operator():
    env = {"PROCESS_RECOVER": "on", "TASKD_PROCESS_ENABLE": "on", "MINDIO_FOR_MINDSPORE": "1", "MS_ENABLE_TFT": "{TTP:1,UCE:1,TSP:1}"}
    assert pod_specs.read(pod(env, ports=[2222, 9601])) == ("train/llama-0", "Running", "mindspore", "on", "on", "MS_ENABLE_TFT with TSP:1", True)
    env = {"PROCESS_RECOVER": "on", "HIGH_AVAILABILITY": "retry"}
    assert pod_specs.read(pod(env, ports=[2222])) == ("train/llama-0", "Running", "pytorch", None, "on", "HIGH_AVAILABILITY", False)
    assert pod_specs.read(pod()) == ("train/llama-0", "Running", "", None, None, None, False)


@pytest.mark.parametrize("env, args, value", [
    ({}, ['export TASKD_PROCESS_ENABLE="on"\npython manager.py &\n'], "on"),
    ({}, ["cd /job && TASKD_PROCESS_ENABLE='off' bash train_start.sh"], "off"),
    ({"TASKD_PROCESS_ENABLE": "on"}, ["export TASKD_PROCESS_ENABLE=off;bash train_start.sh"], "off"),
    ({}, ["export TASKD_PROCESS_ENABLE=off\nexport TASKD_PROCESS_ENABLE=on"], "on"),
    ({"TASKD_PROCESS_ENABLE": "on"}, ["# export TASKD_PROCESS_ENABLE=off"], "on"),
    ({"TASKD_PROCESS_ENABLE": "on"}, ["  # export TASKD_PROCESS_ENABLE=off\nX_TASKD_PROCESS_ENABLE=off"], "on"),
    ({"TASKD_PROCESS_ENABLE": ""}, [], ""),
    ({"TASKD_PROCESS_ENABLE": "$(SWITCH)"}, [], None),
    ({}, ["export TASKD_PROCESS_ENABLE=${SWITCH:-on}"], None),
])
def test_later_assignments_are_read_from_the_arguments(env, args, value):
    assert pod_specs.read(pod(env, args)).taskd_enable == value


@pytest.mark.parametrize("env, args, labels, framework, mindio", [
    ({"MS_ENABLE_TFT": "{TTP:1, TSP : 1}"}, [], None, "mindspore", "MS_ENABLE_TFT with TSP:1"),
    ({"MS_ENABLE_TFT": "{TTP:1,UCE:1}"}, [], None, "mindspore", None),
    ({"MS_ENABLE_TFT": "{TTP:1,TSP:10}"}, [], None, "mindspore", None),
    ({"MS_ENABLE_TFT": "{TTP:1}"}, ['export MS_ENABLE_TFT="{TTP:1,TSP:1}"'], None, "mindspore", "MS_ENABLE_TFT with TSP:1"),
    ({}, ["export MS_ENABLE_TFT='{TTP:1 TSP:1}'"], None, "mindspore", "MS_ENABLE_TFT with TSP:1"),
    ({"MINDIO_FOR_MINDSPORE": "1"}, ["run --enable-high-availability"], None, "mindspore", None),
    ({}, ["pretrain_gpt.py \\\n --enable-high-availability \\\n --bf16"], {"framework": "pytorch"}, "pytorch", "--enable-high-availability"),
    ({}, ["pretrain_gpt.py", "--enable-high-availability"], None, "", "--enable-high-availability"),
    ({}, ["pretrain_gpt.py --enable-high-availability-not"], {"framework": "pytorch"}, "pytorch", None),
    ({"HIGH_AVAILABILITY": "off"}, [], None, "pytorch", None),
    ({"HIGH_AVAILABILITY": "retry"}, [], {"framework": "mindspore"}, "mindspore", None),
])
def test_settings_that_start_mindio(env, args, labels, framework, mindio):
    found = pod_specs.read(pod(env, args, labels))
    assert (found.framework, found.mindio) == (framework, mindio)


def test_only_the_container_of_the_training_counts():
    sidecar = {"name": "log", "env": [{"name": "TASKD_PROCESS_ENABLE", "value": "off"}]}
    assert pod_specs.read(pod({"TASKD_PROCESS_ENABLE": "on"}, others=[sidecar])).taskd_enable == "on"
    item = pod({"TASKD_PROCESS_ENABLE": "on"}, others=[sidecar])
    item["spec"]["containers"][1]["name"] = "trainer"
    assert pod_specs.read(item).taskd_enable == "on"
    del item["spec"]["containers"][1]
    assert pod_specs.read(item).taskd_enable == "off"


def test_values_of_other_objects_are_unknown():
    reference = {"name": "TASKD_PROCESS_ENABLE", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}
    item = pod()
    item["spec"]["containers"][0]["env"] = [reference]
    assert pod_specs.read(item).taskd_enable is None


@pytest.mark.parametrize("item", [
    {}, {"metadata": 1, "spec": [], "status": "x"}, {"spec": {"containers": {"a": 1}}},
    {"spec": {"containers": [1, None, {"env": 2, "args": 3, "ports": "4"}]}},
    {"spec": {"containers": [{"env": [1, {"name": 2, "value": 3}], "args": [None, 7], "command": {"a": 1}, "ports": [None]}]}},
    {"metadata": {"labels": [1]}}])
def test_fields_of_another_form_are_missing(item):
    found = pod_specs.read(item)
    assert found[2:] == ("", None, None, None, False)


def test_texts_of_the_cluster_are_made_printable():
    found = pod_specs.read(pod(metadata={"name": "a\x1b[2J" + "b" * 500}, status={"phase": "\n" * 100}))
    assert len(found.name) <= 128 and found.name.isprintable()
    assert len(found.phase) <= 64 and found.phase.isprintable()
    assert pod_specs.read(pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})).phase == "Terminating"
