# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fault harness: any playbook under any fault, on testbed hosts, judged by what is seen from outside."""
