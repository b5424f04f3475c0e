"""Cache bytecode that Python and Ansible do not: that of modules' zips, and, with the callback kept_files, that of a collection's plugins.

Without it, every module is compiled again on its host, which takes a third of the time of a task in the tests. Python's own cache of bytecode supports files
only.
"""

import marshal
import os
import sys
import zipimport

KEPT = os.path.join(__file__.rpartition("/tests/")[0], ".cache/bytecode", str(sys.implementation.cache_tag))
compile_source = getattr(zipimport, "_compile_source", None)  # from Python 3.8 on


def kept(source, compiled):
    """Return the code that ``compiled`` returned for this source, in this or another process. A copy of the source elsewhere has the same code."""
    import hashlib  # not needed by every Python process

    place = os.path.join(KEPT, hashlib.sha256(source).hexdigest())
    try:
        with open(place, "rb") as stream:
            return marshal.loads(stream.read())
    except (OSError, EOFError, ValueError, TypeError):
        code = compiled()
    whole = f"{place}.{os.getpid()}"
    try:
        os.makedirs(KEPT, exist_ok=True)
        with open(whole, "wb") as stream:
            stream.write(marshal.dumps(code))
        os.replace(whole, place)
    except OSError:  # the cache may not be writable for modules in tests
        pass
    return code


if compile_source:
    zipimport._compile_source = lambda pathname, source: kept(source, lambda: compile_source(pathname, source))
