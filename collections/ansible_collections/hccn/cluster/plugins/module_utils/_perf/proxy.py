# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The proxy of a package manager: its environment variables, and texts without its password.

A proxy is passed to programs only in their environment, which other users of the host cannot read, unlike a command line.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Set
from urllib.parse import quote, unquote, urlsplit

from .._core.errors import InputError

HIDDEN = "(hidden)"
SHORTEST = 4
"""Minimum length of a password that is searched for outside of a URL; shorter ones would hide large parts of all texts."""

_URL = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_EXCLUDED = re.compile(r"[A-Za-z0-9._:/\[\]*-]+")
_LOGIN = re.compile(r"(?<=://)[^\s/]{1,4096}@")


class Proxy:
    """``http`` and ``https``: URLs of the proxy for each scheme; ``excluded``: hosts, domains and networks that are reached directly. Raises InputError."""

    def __init__(self, http: Optional[str] = None, https: Optional[str] = None, excluded: Optional[Sequence[str]] = None) -> None:
        self._urls = {name: url for name, url in (("http_proxy", http), ("https_proxy", https)) if url is not None}
        self._excluded = excluded
        for name, url in self._urls.items():
            _check_url(name, url)
        for entry in excluded or ():
            if not _EXCLUDED.fullmatch(entry):
                raise InputError("no_proxy: %r is not the name of a host or domain, an address or a network" % entry, "write one entry per host or domain")

    def environment(self) -> Dict[str, str]:
        """Return the variables in both spellings, since programs differ in which one they read."""
        variables = dict(self._urls)
        if self._excluded is not None:
            variables["no_proxy"] = ",".join(self._excluded)
        return {**variables, **{name.upper(): value for name, value in variables.items()}}

    def hide(self, text: str) -> str:
        """Return the text without logins in URLs, and without the password of this proxy."""
        text = _LOGIN.sub(HIDDEN + "@", text)
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def _secrets(self) -> List[str]:
        """Return the password as it was given, decoded, and in the forms in which programs encode it, the longest first."""
        found: Set[str] = set()
        for url in self._urls.values():
            password = urlsplit(url).password or ""
            plain = unquote(password)
            found.update((password, plain, quote(plain), quote(plain, safe="")))
        return sorted((secret for secret in found if len(secret) >= SHORTEST), key=len, reverse=True)


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = bool(_URL.fullmatch(url) and parts.hostname and parts.port != 0 and parts.path in ("", "/") and not parts.query and not parts.fragment)
    except ValueError:  # the port is not a number
        valid = False
    if not valid:
        raise InputError("%s is not a URL of the form http://USER:PASSWORD@HOST:PORT (it is not shown, since it may contain a password)" % name,
                         "write characters such as / ? # @ and % in user and password as %2F %3F %23 %40 and %25")
