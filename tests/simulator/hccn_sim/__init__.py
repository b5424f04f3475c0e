# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for the command line tools of an Ascend host: hccn_tool and npu-smi over simulated devices."""
