"""Keeps what Python makes of the sources in a module's zip, for processes that have this folder in their path: every module is compiled anew on its host,
which is a third of what a task of the tests costs. Python's own folders of bytecode are for files only."""

import marshal
import os
import sys
import zipimport

KEPT = os.path.join(__file__.rpartition("/tests/")[0], ".cache/bytecode", str(sys.implementation.cache_tag))
compile_source = getattr(zipimport, "_compile_source", None)  # from Python 3.8 on


def kept(pathname, source):
    import hashlib  # not for every Python that starts

    place = os.path.join(KEPT, hashlib.sha256(source).hexdigest())
    try:
        with open(place, "rb") as stream:
            return marshal.loads(stream.read())
    except (OSError, EOFError, ValueError, TypeError):
        code = compile_source(pathname, source)
    whole = f"{place}.{os.getpid()}"
    try:
        os.makedirs(KEPT, exist_ok=True)
        with open(whole, "wb") as stream:
            stream.write(marshal.dumps(code))
        os.replace(whole, place)
    except OSError:  # the modules of the tests also run where nothing can be written
        pass
    return code


if compile_source:
    zipimport._compile_source = kept
