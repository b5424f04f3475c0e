"""An HTTP proxy with a login that answers every URL with the file of that name in one folder.

    python3 proxy.py FOLDER

FOLDER contains ``login`` (USER:PASSWORD) and the folder ``files``. The proxy writes ``port``, and to ``requests`` one line of JSON per request, with the
command lines of this host that contain the password at that moment.
"""

from __future__ import annotations

import base64
import http.server
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(sys.argv[1])
LOGIN = (FOLDER / "login").read_text()


def command_lines() -> list[str]:
    """Return the command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # the process has ended
            continue
    return found


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        expected = "Basic " + base64.b64encode(LOGIN.encode()).decode()
        allowed = self.headers.get("Proxy-Authorization") == expected
        lines = command_lines()
        secret = LOGIN.partition(":")[2][:6]
        with (FOLDER / "requests").open("a") as log:
            log.write(json.dumps({"url": self.path, "allowed": allowed, "apt": any("apt-get" in line for line in lines),
                                  "leaks": [line for line in lines if secret in line]}) + "\n")
        path = FOLDER / "files" / Path(urlsplit(self.path).path).name
        code = 407 if not allowed else 200 if path.is_file() else 404
        body = path.read_bytes() if code == 200 else b""
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(FOLDER / "port").write_text(str(server.server_port))
server.serve_forever()
