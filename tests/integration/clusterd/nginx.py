"""Debian's nginx before a simulated ClusterD, as the security guide sets it up: TLS with client certificates, or plain HTTP/2."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.integration.clusterd.certificates import Authority
from tests.lab.testbed import Unavailable, packages
from tests.lib.ports import free_port
from tests.lib.project import skip
from tests.lib.waiting import until

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {zones}
  server {{
    listen 127.0.0.1:{port} {tls};
    {certificates}
    {access}
    {limits}
    proxy_read_timeout 900s;
    location / {{ grpc_pass grpc://127.0.0.1:{behind}; {timeout} }}
  }}
}}
"""


ZONES = "limit_req_zone one zone=requests:1m rate=20r/s; limit_conn_zone $server_port zone=connections:1m;"
LIMITS = "limit_req zone=requests burst=20 nodelay; limit_conn connections 20;"
"""The limits of the security guide, whose keys are the same for all clients."""


def _binary() -> str:
    """Return the path of nginx, installed if it is missing; skip the test if that is not possible."""
    path = os.pathsep.join([os.environ.get("PATH", ""), packages.PATH])
    try:
        packages.ensure({"nginx": "nginx-light"}, "a proxy before ClusterD")
    except Unavailable as reason:
        if shutil.which("nginx", path=path) is None:
            skip("nginx", str(reason))
    return shutil.which("nginx", path=path) or skip("nginx")


class Nginx:
    """``read_timeout_s``: grpc_read_timeout, whose default is 60 s. ``authority``: signs the certificate of the server and those of its clients.
    ``limited``: with the limits of the security guide."""

    def __init__(self, folder: Path, behind: int, read_timeout_s: int | None = None, authority: Authority | None = None, deny: bool = False,
                 limited: bool = False) -> None:
        binary = _binary()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        self.port = free_port()
        certificates = ""
        if authority is not None:
            pair = authority.pair("clusterd.example")
            certificates = (f"ssl_certificate {pair.certificate}; ssl_certificate_key {pair.key}; ssl_client_certificate {authority.ca}; ssl_verify_client on;")
        text = CONFIGURATION.format(
            folder=folder, port=self.port, behind=behind, tls="ssl http2" if authority else "http2", certificates=certificates,
            access="deny all;" if deny else "", zones=ZONES if limited else "", limits=LIMITS if limited else "",
            timeout=f"grpc_read_timeout {read_timeout_s}s;" if read_timeout_s else "")
        configuration = folder / "nginx.conf"
        configuration.write_text(text)
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen([binary, "-p", str(folder), "-c", str(configuration), *user], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=(folder / "stderr.log").open("w"))
        until(self._listens, 20)

    def _listens(self) -> bool:
        assert self._process.poll() is None, "nginx has ended: see its logs"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Nginx:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)
