"""A stand-in for AWX's API: the requests with which the modules of awx.awx 24 make projects, templates, workflows and schedules.

Like AWX, it refuses surveys that violate its rules, links to missing objects, variables that a template does not ask for, and schedules without start or
interval. It returns no secrets.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlparse

from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import survey_rules

HIDDEN = "$encrypted$"
SECRETS = {"password", "ssh_key_data", "ssh_key_unlock", "become_password", "token"}
# The fields that AWX adds to the configuration of a webhook.
WEBHOOK = {"username": "", "password": "", "disable_ssl_verification": False, "http_method": "POST", "headers": {}}
TYPES = {"organizations": "organization", "projects": "project", "inventories": "inventory", "inventory_sources": "inventory_source",
         "credential_types": "credential_type", "credentials": "credential", "execution_environments": "execution_environment",
         "notification_templates": "notification_template", "job_templates": "job_template", "workflow_job_templates": "workflow_job_template",
         "workflow_job_template_nodes": "workflow_job_template_node", "schedules": "schedule", "labels": "label", "teams": "team", "users": "user",
         "instance_groups": "instance_group"}
ROLES = ("admin_role", "execute_role", "read_role")
UNIFIED = ("projects", "inventory_sources", "job_templates", "workflow_job_templates")
LINKS = {"organization": ("organizations",), "project": ("projects",), "source_project": ("projects",), "inventory": ("inventories",),
         "credential_type": ("credential_types",), "credential": ("credentials",), "execution_environment": ("execution_environments",),
         "default_environment": ("execution_environments",), "workflow_job_template": ("workflow_job_templates",), "unified_job_template": UNIFIED}
PATH = re.compile(r"/api/v2/(?P<kind>\w+)/(?:(?P<id>\d+)/(?:(?P<part>\w+)/)?)?$")
RRULE = re.compile(r"DTSTART;TZID=\S+:\d{8}T\d{6} RRULE:FREQ=\w+;INTERVAL=\d+(;BYDAY=\w\w)?")


class Refused(Exception):
    """A request that AWX refuses with status 400."""


class Controller:
    """``url`` of the API; ``changes``: the requests that change something, in their order."""

    user, password, token = "admin", "secret", "a-token"

    def __init__(self) -> None:
        self.objects: dict[str, dict[int, dict[str, Any]]] = {kind: {} for kind in TYPES}
        self.surveys: dict[int, dict[str, Any]] = {}
        self.linked: dict[tuple[int, str], list[int]] = {}
        self.members: dict[tuple[int, str], list[int]] = {}
        self._roles: dict[int, tuple[int, str]] = {}
        self.changes: list[tuple[str, str]] = []
        self._ids = itertools.count(1)
        self._create("organizations", {"name": "Default"})
        self._create("credential_types", {"name": "Machine", "kind": "ssh"})
        controller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                authorized = self.headers.get("Authorization", "")
                code, what = controller.answer(self.command, self.path, body, authorized)
                data = b"" if what is None else json.dumps(what).encode()
                self.send_response(code)
                for name, value in (("X-API-Product-Name", "AWX"), ("X-API-Product-Version", "24.6.1"), ("Content-Length", str(len(data)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = _answer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def named(self, kind: str) -> dict[str, dict[str, Any]]:
        return {str(found.get("name") or found.get("identifier") or found["username"]): found for found in self.objects[kind].values()}

    def linked_names(self, kind: str, name: str, part: str) -> list[str]:
        """Return the names of the objects that are linked to an object: its credentials, notifications or next nodes."""
        ids = self.linked.get((self.named(kind)[name]["id"], part), [])
        return sorted(str(found.get("name") or found.get("identifier") or found["username"]) for found in self._all() if found["id"] in ids)

    def answer(self, method: str, target: str, body: dict[str, Any], authorized: str) -> tuple[int, Any]:
        url = urlparse(target)
        if url.path.startswith("/api/v2/tokens/"):
            return (201, {"id": 1, "token": self.token}) if method == "POST" else (204, None)
        if authorized != f"Bearer {self.token}":
            return 401, {"detail": "Authentication credentials were not provided."}
        path = PATH.match(url.path)
        if path is not None and path["kind"] == "roles":
            return self._role(method, int(path["id"]), path["part"], body)
        if path is None or path["kind"] not in (*TYPES, "unified_job_templates"):
            return 404, {"detail": "Not found."}
        if method != "GET":
            self.changes.append((method, url.path))
        try:
            if path["part"]:
                return self._part(method, path["kind"], int(path["id"]), path["part"], body)
            if path["id"]:
                return self._one(method, path["kind"], int(path["id"]), body)
            if method == "POST":
                return 201, self._create(path["kind"], body)
            return 200, self._list(list(self._found(path["kind"], dict(parse_qsl(url.query)))))
        except Refused as error:
            return 400, {"detail": str(error)}

    def _all(self) -> Iterator[dict[str, Any]]:
        return itertools.chain.from_iterable(found.values() for found in self.objects.values())

    def _found(self, kind: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        for one in UNIFIED if kind == "unified_job_templates" else (kind,):
            for found in self.objects[one].values():
                if all(str(found.get(key, "")) == value for key, value in query.items()):
                    yield self._shown(found)

    def _list(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        return {"count": len(found), "next": None, "previous": None, "results": found}

    def _create(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        number = next(self._ids)
        roles = {role: {"id": next(self._ids)} for role in ROLES}
        self._roles |= {role["id"]: (number, name) for name, role in roles.items()}
        made = {"id": number, "type": TYPES[kind], "url": f"/api/v2/{kind}/{number}/", "summary_fields": {"object_roles": roles}, "scm_revision": "",
                "related": {"survey_spec": f"/api/v2/{kind}/{number}/survey_spec/"}}
        self.objects[kind][number] = made | self._checked(made, body)
        return self._shown(self.objects[kind][number])

    def _one(self, method: str, kind: str, number: int, body: dict[str, Any]) -> tuple[int, Any]:
        if number not in self.objects[kind]:
            return 404, {"detail": "Not found."}
        if method == "DELETE":
            del self.objects[kind][number]
            if kind == "workflow_job_templates":  # with its nodes
                nodes = self.objects["workflow_job_template_nodes"]
                self.objects["workflow_job_template_nodes"] = {key: one for key, one in nodes.items() if one["workflow_job_template"] != number}
            return 204, None
        if method == "PATCH":
            self.objects[kind][number] |= self._checked(self.objects[kind][number], body)
        return 200, self._shown(self.objects[kind][number])

    def _part(self, method: str, kind: str, number: int, part: str, body: dict[str, Any]) -> tuple[int, Any]:
        if part == "survey_spec":
            if method == "DELETE":
                self.surveys.pop(number, None)
            elif method == "POST":
                if breaches := survey_rules.breaches_of(body):
                    raise Refused("; ".join(breaches))
                self.surveys[number] = body
            return 200, self.surveys.get(number, {})
        ids = self.linked.setdefault((number, part), [])
        if method == "GET":
            return 200, self._list([self._shown(found) for found in self._all() if found["id"] in ids])
        if body.get("disassociate"):
            ids.remove(body["id"])
        elif any(found["id"] == body["id"] for found in self._all()):
            ids.append(body["id"])
        else:
            raise Refused(f"{part}: {body['id']} does not exist")
        return 204, None

    def _role(self, method: str, number: int, actors: str, body: dict[str, Any]) -> tuple[int, Any]:
        members = self.members.setdefault((number, actors), [])
        if method == "GET":
            return 200, self._list([self._shown(found) for found in self.objects[actors].values() if found["id"] in members])
        self.changes.append((method, f"/api/v2/roles/{number}/{actors}/"))
        members.append(body["id"])
        return 204, None

    def may(self, kind: str, name: str) -> dict[str, list[str]]:
        """Return the names of the teams and users by role of an object."""
        number, found = self.named(kind)[name]["id"], {}
        for (role, actors), members in self.members.items():
            holder, role_name = self._roles[role]
            if holder == number and members:
                found.setdefault(role_name, []).extend(
                    str(one.get("name") or one["username"]) for one in self.objects[actors].values() if one["id"] in members)
        return {role: sorted(names) for role, names in found.items()}

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Make an object as an administrator does."""
        return self._create(kind, fields)

    def _checked(self, there: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        for field, kinds in LINKS.items():
            if body.get(field) is not None and not any(body[field] in self.objects[kind] for kind in kinds):
                raise Refused(f"{field}: {body[field]} does not exist")
        if body.get("extra_data"):
            template = self.objects["job_templates"][body.get("unified_job_template") or there["unified_job_template"]]
            variables = {question["variable"] for question in self.surveys.get(template["id"], {"spec": []})["spec"]}
            if not template.get("ask_variables_on_launch") and set(body["extra_data"]) - variables:
                raise Refused("extra_data: Variables are not allowed on launch.")
        if "rrule" in body and not RRULE.fullmatch(body["rrule"]):
            raise Refused("rrule: not valid")
        if there["type"] == "notification_template" and "notification_configuration" in body:
            return body | {"notification_configuration": WEBHOOK | body["notification_configuration"]}
        return body

    def _shown(self, found: dict[str, Any]) -> dict[str, Any]:
        hidden = {}
        for field in ("inputs", "notification_configuration"):
            if isinstance(found.get(field), dict):
                hidden[field] = {name: HIDDEN if value and name in SECRETS else value for name, value in found[field].items()}
        return found | hidden
