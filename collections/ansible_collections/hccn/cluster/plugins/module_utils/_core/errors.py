# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The errors that leave a layer: a code for machines, a sentence for people, a hint what to do."""

from __future__ import annotations


class HccnError(Exception):
    """One failure of a tool, a file or an input.

    ``code`` is a stable lower_snake_case word, ``message`` what was wrong and where, ``hint`` what to do (may be empty).
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def sentence(self) -> str:
        """Message and hint as one line for people."""
        return "%s (%s)" % (self.message, self.hint) if self.hint else self.message

    def as_dict(self) -> dict:
        """``{code, message, hint}``; ``hint`` absent where there is none."""
        fields = {"code": self.code, "message": self.message}
        if self.hint:
            fields["hint"] = self.hint
        return fields


class InputError(HccnError):
    """An option or a file of the user is wrong; nothing was run."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("invalid_input", message, hint)


class ParseError(HccnError):
    """A tool printed something that its parser does not know."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("unexpected_output", message, hint)
