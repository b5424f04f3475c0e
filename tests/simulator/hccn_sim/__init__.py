"""Stand-in for the command line tools of an Ascend host: hccn_tool and npu-smi on simulated devices."""
