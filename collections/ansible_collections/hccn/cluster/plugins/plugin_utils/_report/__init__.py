# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The page of a run: model.py builds its content from the history; html.py, markdown.py, export.py and prometheus.py render it."""
