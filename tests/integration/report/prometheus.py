"""Start a real Prometheus that scrapes texts served on loopback, and query it."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.lab.testbed import Unavailable, packages
from tests.lib.ports import free_port
from tests.lib.project import skip

DEADLINE = 90
TYPES = {"text": "text/plain; version=0.0.4; charset=utf-8", "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8"}
"""The content types, by the path and name of the job."""


def programs_or_skip() -> None:
    """Install Prometheus if it is missing, skip the test if that is impossible."""
    try:
        packages.ensure({"prometheus": "prometheus", "promtool": "prometheus"}, "the metrics")
    except Unavailable as reason:
        skip("prometheus", str(reason))


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([shutil.which("promtool") or "promtool", *arguments], input=text, capture_output=True, text=True, timeout=DEADLINE)


class Prometheus:
    """A running Prometheus."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of the API."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        with urllib.request.urlopen(f"{self._address}/api/v1/{path}{query}", timeout=10) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.get("query", query=expression)["result"]
        return result

    def until(self, expression: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until a query has ``count`` results and return them."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                found = self.query(expression)
            except (urllib.error.URLError, ConnectionError):
                found = []
            if len(found) >= count:
                return found
            assert time.monotonic() < end, f"{expression} never had {count} results: {found}"
            time.sleep(0.2)


@contextmanager
def prometheus(folder: Path, metrics: str, rules: Path) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes ``metrics`` in both formats every second and evaluates ``rules``."""
    with _served(metrics) as port:
        jobs = [{"job_name": name, "metrics_path": f"/{name}", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for name in TYPES]
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)], "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        own = free_port()
        process = subprocess.Popen(
            [shutil.which("prometheus") or "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Prometheus(f"http://127.0.0.1:{own}")
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


@contextmanager
def _served(metrics: str) -> Iterator[int]:
    types: Mapping[str, str] = {f"/{name}": content_type for name, content_type in TYPES.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", types[self.path])
            self.end_headers()
            self.wfile.write(metrics.encode())

        def log_message(self, *_parts: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
