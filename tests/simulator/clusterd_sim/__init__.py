# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for ClusterD: its gRPC services over a real socket, with descriptors of its own."""
