# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Errors with a code for programs, a message for users, and a hint about what to do."""

from __future__ import annotations


class HccnError(Exception):
    """A failure of a tool, a file or an input.

    ``code`` is a stable identifier in lower_snake_case, ``message`` states what is wrong and where, ``hint`` states what to do and may be empty.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def sentence(self) -> str:
        """Return message and hint as one line."""
        return "%s (%s)" % (self.message, self.hint) if self.hint else self.message

    def as_dict(self) -> dict:
        """Return ``code``, ``message`` and, unless it is empty, ``hint``."""
        fields = {"code": self.code, "message": self.message}
        if self.hint:
            fields["hint"] = self.hint
        return fields


class InputError(HccnError):
    """An option or a file of the user is invalid. No command was run."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("invalid_input", message, hint)


class ParseError(HccnError):
    """A tool printed output that its parser does not recognise."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("unexpected_output", message, hint)
