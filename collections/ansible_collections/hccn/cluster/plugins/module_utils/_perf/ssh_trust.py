# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Manage an SSH key for one run: create it on the launching host, authorize it on the participating hosts, and remove it afterwards.

The comment of the line in authorized_keys contains the run, its owner and its end, so that the next run can remove the line of a killed run.
The private key stays in the folder in which ssh-keygen created it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError
from .._core.words import beginning

MARKER = "hccn.cluster"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
OWNER = re.compile(r"[A-Za-z0-9._-]{1,200}")
PUBLIC_KEY = re.compile(r"(?:ssh-ed25519|ecdsa-sha2-[a-z0-9-]+|ssh-rsa) [A-Za-z0-9+/=]+")
KINDS = (("ed25519",), ("ecdsa", "-b", "384"))
"""Types of keys in the order of preference. FIPS mode rejects the first."""
KEYGEN_SECONDS = 30
RESTRICT_SINCE, EXPIRY_SINCE = (7, 2), (7, 7)
"""Releases of OpenSSH from which on the options of authorized_keys exist (sshd(8)). An older release rejects a key with an unknown option."""
HOST_KEYS = "etc/ssh"
IDENTITY = "id"
_FOLDER = MARKER + "-"
_COMMENT = re.compile(r"%s run=(\S+) owner=(\S+) until=([0-9]+) made=(nothing|file|folder)$" % re.escape(MARKER))
_VERSION = re.compile(r"OpenSSH_([0-9]+)\.([0-9]+)")


@dataclass(frozen=True)
class Trust:
    """The trust of a line or of the folder of a key. ``until``: seconds since the epoch; ``made``: what was created for the line."""

    run_id: str
    owner: str
    until: int
    made: str = "nothing"

    @property
    def comment(self) -> str:
        return "%s run=%s owner=%s until=%d made=%s" % (MARKER, self.run_id, self.owner, self.until, self.made)


def check(run_id: str, owner: str) -> None:
    """Raise InputError for values that the comment or a path cannot contain."""
    if RUN_ID.fullmatch(run_id) is None:
        raise InputError("run_id %r is not a name of up to 64 letters, digits, '.', '_' and '-'" % run_id)
    if OWNER.fullmatch(owner) is None:
        raise InputError("owner %r is not a word of letters, digits, '.', '_' and '-'" % owner)


# The key on the launching host.

def make_key(folder: str, trust: Trust) -> Tuple[str, str]:
    """Create a key; return the path of the private key and the public key without its comment. Raises HccnError."""
    own = _key_folder(folder, trust.run_id)
    os.makedirs(folder, 0o700, exist_ok=True)
    shutil.rmtree(own, ignore_errors=True)
    os.mkdir(own, 0o700)
    with open(os.path.join(own, "run.json"), "w") as stream:
        json.dump({"owner": trust.owner, "until": trust.until}, stream)
    path = os.path.join(own, IDENTITY)
    message = ""
    for kind in KINDS:
        result = process.run(["ssh-keygen", "-q", "-t", *kind, "-N", "", "-C", trust.comment, "-f", path], KEYGEN_SECONDS)
        message = (result.stderr or result.stdout).strip()
        if result.rc == 0:
            with open(path + ".pub") as stream:
                return path, " ".join(stream.read().split()[:2])
    shutil.rmtree(own, ignore_errors=True)
    raise HccnError("key_not_made", "ssh-keygen created no key: %s" % beginning(message, 300), "check free space and permissions of %s" % folder)


def _key_folder(folder: str, run_id: str) -> str:
    return os.path.join(folder, _FOLDER + run_id)


def keys(folder: str) -> List[Trust]:
    """Return the runs whose private keys are in this folder."""
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith(_FOLDER) and os.path.isdir(os.path.join(folder, name)):
            try:
                with open(os.path.join(folder, name, "run.json")) as stream:
                    noted = json.load(stream)
                found.append(Trust(run_id=name[len(_FOLDER):], owner=str(noted["owner"]), until=int(noted["until"])))
            except (OSError, ValueError, KeyError, TypeError):
                found.append(Trust(run_id=name[len(_FOLDER):], owner="unknown", until=0))
    return found


def remove_keys(folder: str, run_ids: Iterable[str]) -> List[str]:
    """Remove private keys; return the ids of those that existed."""
    removed = []
    for run_id in run_ids:
        own = _key_folder(folder, run_id)
        if os.path.isdir(own):
            shutil.rmtree(own)
            removed.append(run_id)
    return removed


# The line in authorized_keys on every host.

def line_of(public_key: str, trust: Trust, release: Optional[Tuple[int, int]]) -> str:
    """Return the line for authorized_keys. ``release``: that of the OpenSSH of this host, None if unknown. Raises InputError."""
    if PUBLIC_KEY.fullmatch(public_key) is None:
        raise InputError("public_key is not a public key of OpenSSH")
    options = []
    if release and release >= RESTRICT_SINCE:
        options.append("restrict")
    if release and release >= EXPIRY_SINCE:
        options.append('expiry-time="%s"' % _local(trust.until))
    return " ".join(filter(None, [",".join(options), public_key, trust.comment]))


def _local(moment: int) -> str:
    """Format a time in the time zone of the system, which sshd uses, and not in TZ of this process."""
    zone = os.environ.pop("TZ", None)
    time.tzset()
    try:
        return time.strftime("%Y%m%d%H%M", time.localtime(moment + 60))
    finally:
        if zone is not None:
            os.environ["TZ"] = zone
            time.tzset()


def release_of(text: str) -> Optional[Tuple[int, int]]:
    """Return the release in the output of ``ssh -V``; None for another program."""
    match = _VERSION.search(text)
    return (int(match.group(1)), int(match.group(2))) if match else None


def lines(path: str) -> List[Trust]:
    """Return the runs that may log in to this host."""
    try:
        with open(path, errors="surrogateescape") as stream:
            text = stream.read()
    except OSError:
        return []
    return [found for found in map(_read, text.splitlines()) if found]


def _read(line: str) -> Optional[Trust]:
    match = _COMMENT.search(line.rstrip())
    return Trust(run_id=match.group(1), owner=match.group(2), until=int(match.group(3)), made=match.group(4)) if match else None


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Allow one writer at a time. The folder is locked, since the file is replaced."""
    handle = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def allow(path: str, public_key: str, trust: Trust, release: Optional[Tuple[int, int]]) -> None:
    """Append the line in one write. Raises InputError, OSError."""
    made = "nothing" if os.path.exists(path) else "file" if os.path.isdir(os.path.dirname(path)) else "folder"
    line_of(public_key, trust, release)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with _locked(path):
        line = line_of(public_key, replace(trust, made=_made(path, made)), release)
        if any(found.run_id == trust.run_id for found in lines(path)):
            return
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            data = (("\n" if torn else "") + line + "\n").encode()
            if os.write(handle, data) != len(data):
                os.ftruncate(handle, size)
                raise OSError(28, "No space left on device", path)
            os.fsync(handle)
        finally:
            os.close(handle)


def _made(path: str, made: str) -> str:
    """Return what was created for the line. A file that contains only such lines was created for the first of them, and is removed with the last."""
    known = lines(path)
    if not known or len(known) != _count(path):
        return made
    return known[0].made


def _count(path: str) -> int:
    with open(path, "rb") as stream:
        return sum(1 for line in stream if line.strip())


def forbid(path: str, run_ids: Iterable[str]) -> List[str]:
    """Remove the lines of these runs, and the file and folder that were created for them if now empty; return the ids of the runs that had a line."""
    wanted = set(run_ids)
    if not wanted or not os.path.exists(path):
        return []
    with _locked(path):
        with open(path, "rb") as stream:
            before = stream.read()
        kept, gone = [], []
        for line in before.splitlines(True):
            found = _read(line.decode(errors="surrogateescape"))
            if found and found.run_id in wanted:
                gone.append(found)
            else:
                kept.append(line)
        if not gone:
            return []
        made = {one.made for one in gone}
        if kept or made == {"nothing"}:
            _replace(path, b"".join(kept))
        else:
            os.unlink(path)
            if "folder" in made and not os.listdir(os.path.dirname(path)):
                os.rmdir(os.path.dirname(path))
    return [one.run_id for one in gone]


def _replace(path: str, data: bytes) -> None:
    """Replace the file atomically, with its mode and owner. On a full disk, shorten it in place, which needs no space."""
    status = os.stat(path)
    real = os.path.realpath(path)
    try:
        handle, scratch = tempfile.mkstemp(prefix=".hccn-", dir=os.path.dirname(real))
    except OSError:
        return _shorten(real, data)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), status.st_mode & 0o7777)
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
            os.fsync(stream.fileno())
        os.replace(scratch, real)
    except OSError:
        os.unlink(scratch)
        _shorten(real, data)
    return None


def _shorten(path: str, data: bytes) -> None:
    with open(path, "r+b") as stream:
        stream.write(data)
        stream.truncate()


# Runs of keys and lines, and the host keys.

def expired(found: Sequence[Trust], now: float) -> List[str]:
    """Return the runs of any owner whose time is over, and which need their keys no longer."""
    return [one.run_id for one in found if one.until < now]


def others(found: Sequence[Trust], run_id: str) -> List[Dict[str, str]]:
    """Return the other runs, which may be active, with their owners."""
    known: Dict[str, str] = {one.run_id: one.owner for one in found if one.run_id != run_id}
    return [{"run_id": name, "owner": owner} for name, owner in known.items()]


def host_keys(root: str = "/") -> List[str]:
    """Return the public keys of this host for known_hosts, without names, derived from readable private keys: the .pub files may be stale."""
    folder = os.path.join(root, HOST_KEYS)
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith("ssh_host_") and name.endswith("_key"):
            found.append(_derived(os.path.join(folder, name)) or _written(os.path.join(folder, name) + ".pub"))
    return [key for key in found if key]


def _derived(path: str) -> str:
    if not os.access(path, os.R_OK):
        return ""
    result = process.run(["ssh-keygen", "-y", "-f", path], KEYGEN_SECONDS)
    return " ".join(result.stdout.split()[:2]) if result.rc == 0 else ""


def _written(path: str) -> str:
    try:
        with open(path) as stream:
            return " ".join(stream.read().split()[:2])
    except OSError:
        return ""
