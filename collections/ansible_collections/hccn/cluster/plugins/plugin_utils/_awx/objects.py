# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The objects in AWX, as data in the form of the variables of the collection infra.aap_configuration.

An element has the options of the module of awx.awx, or of ansible.controller, that creates it. A workflow also has ``simplified_workflow_nodes``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.errors import InputError
from . import jobs, questions, survey_rules

Settings = Mapping[str, Any]
"""The variables of the role ``awx`` without their prefix; those that are not set are missing."""

Objects = dict[str, list[dict[str, Any]]]
"""The objects by the name of the variable."""


class Kind(NamedTuple):
    """The ``variable`` of infra.aap_configuration, the ``module`` that applies it, and the options by which it finds an object; none if nothing is removed."""

    variable: str
    module: str
    found_by: Sequence[str] = ("name", "organization")


KINDS = (
    Kind("controller_labels", "label", ()),  # AWX removes a label with the last object that has it
    Kind("controller_execution_environments", "execution_environment", ("name", "organization", "image")),
    Kind("controller_projects", "project"),
    Kind("controller_inventories", "inventory"),
    Kind("controller_inventory_sources", "inventory_source", ("name", "organization", "inventory")),
    Kind("controller_credential_types", "credential_type", ("name", "kind")),
    Kind("controller_credentials", "credential", ("name", "organization", "credential_type")),
    Kind("controller_notifications", "notification_template"),
    Kind("controller_templates", "job_template"),
    Kind("controller_workflows", "workflow_job_template"),
    Kind("controller_schedules", "schedule", ("name",)),
    Kind("controller_roles", "role", ()),  # they are removed with the objects
)
"""In the order in which they are created."""

NODES = "simplified_workflow_nodes"


def surveys(leave_out: Collection[str], roles: Any) -> dict[str, dict[str, Any]]:
    """Return the survey of each job that asks anything. Raise InputError if AWX would refuse one. ``roles``: folder of the roles."""
    made = questions.surveys_of(jobs.JOBS, roles, leave_out, jobs.QUESTIONS)
    for job, survey in made.items():
        breaches = survey_rules.breaches_of(survey)
        if breaches:
            raise InputError(f"AWX would refuse the survey of {job}: {'; '.join(breaches)}")
    return made


def objects(settings: Settings, made_surveys: Mapping[str, Mapping[str, Any]]) -> Objects:
    """Return all objects. Raise InputError if they would detach credentials that nobody named."""
    names = _Names(settings)
    if names.pages and not names.credentials_known:
        raise InputError("awx_history_path attaches a credential to every job template, and AWX would lose the credentials that are attached by hand: name "
                         "them in awx_credentials, or [] if there are none. Nothing was changed")
    for option, pieces, is_used in (("awx_bring_up_slices", "slices", settings["bring_up_slices"] > 1), ("awx_fabric_parts", "parts", names.parts)):
        if is_used and not names.pages:
            raise InputError(f"{option} needs awx_history_path, since the {pieces} are judged as one run from the history. Nothing was changed")
    workflows = list(_workflows(settings, names))
    found = {
        "controller_labels": [{"name": label, "organization": names.organization} for label in settings.get("labels", [])],
        "controller_execution_environments": list(_environment(settings, names)),
        "controller_projects": [_project(settings, names)],
        "controller_inventories": [{"name": names.of("hosts"), "organization": names.organization}],
        "controller_inventory_sources": [_source(settings, names)],
        "controller_credential_types": list(_credential_types(names)),
        "controller_credentials": list(_credentials(settings, names)),
        "controller_notifications": list(_notifications(settings, names)),
        "controller_templates": [_template(settings, names, job, made_surveys.get(job["name"])) for job in jobs.JOBS],
        "controller_workflows": workflows,
        "controller_schedules": list(_schedules(settings, names)),
        "controller_roles": list(_roles(settings, names, [one["name"] for one in workflows])),
    }
    return {variable: made for variable, made in found.items() if made}


class _Names:
    """The names that several objects refer to."""

    def __init__(self, settings: Settings) -> None:
        self._prefix = settings["prefix"]
        self.organization = settings["organization"]
        self.pages = "history_path" in settings
        self.parts: Sequence[str] = settings.get("fabric_parts", [])
        self.templates = [self.of(job["name"]) for job in jobs.JOBS]
        self.credentials_known = "credentials" in settings or "credential_inputs" in settings
        self.credentials = [*settings.get("credentials", []), *([self.of("hosts")] if "credential_inputs" in settings else []),
                            *([self.of("history")] if self.pages else [])]
        self.notifications = [*([self.of("failures")] if "notification_configuration" in settings else []), *settings.get("notifications", [])]

    def of(self, name: str) -> str:
        return f"{self._prefix} {name}"


def _given(settings: Settings, **options: str) -> dict[str, Any]:
    """Return the options whose setting is given. ``options``: the name of the setting by that of the option."""
    return {option: settings[name] for option, name in options.items() if name in settings}


def _environment(settings: Settings, names: _Names) -> Iterator[dict[str, Any]]:
    if "image" in settings:
        yield {"name": names.of("environment"), "organization": names.organization, "image": settings["image"],
               **_given(settings, pull="image_pull", credential="registry_credential")}


def _project(settings: Settings, names: _Names) -> dict[str, Any]:
    environment = {"default_environment": names.of("environment")} if "image" in settings else {}
    return {"name": names.of("project"), "organization": names.organization, "description": "NPU clusters from bare hosts to a proven fabric",
            "scm_type": "git", "scm_url": settings["project_url"], "scm_branch": settings["project_branch"], "scm_update_on_launch": True,
            "scm_update_cache_timeout": 60, **_given(settings, credential="project_credential"), **environment}


def _source(settings: Settings, names: _Names) -> dict[str, Any]:
    return {"name": names.of("hosts"), "inventory": names.of("hosts"), "organization": names.organization, "source": "scm",
            "source_project": names.of("project"), "source_path": settings["inventory_path"], "overwrite": True, "overwrite_vars": True,
            "update_on_launch": True}


def _credential_types(names: _Names) -> Iterator[dict[str, Any]]:
    """AWX passes environment variables to jobs only through credentials."""
    if names.pages:
        yield {"name": names.of("history"), "kind": "cloud",
               "inputs": {"fields": [{"id": "path", "label": "Folder of the history", "type": "string"}], "required": ["path"]},
               "injectors": {"env": {"HCCN_RESULTS_PATH": "{{ path }}"}}}


def _credentials(settings: Settings, names: _Names) -> Iterator[dict[str, Any]]:
    if "credential_inputs" in settings:
        yield {"name": names.of("hosts"), "organization": names.organization, "credential_type": "Machine", "inputs": settings["credential_inputs"],
               "update_secrets": settings["update_secrets"]}
    if names.pages:
        yield {"name": names.of("history"), "organization": names.organization, "credential_type": names.of("history"),
               "inputs": {"path": settings["history_path"]}}


def _notifications(settings: Settings, names: _Names) -> Iterator[dict[str, Any]]:
    if "notification_configuration" in settings:
        yield {"name": names.of("failures"), "organization": names.organization, "notification_type": settings["notification_type"],
               "notification_configuration": settings["notification_configuration"], "state": "present" if settings["update_secrets"] else "exists"}


def _template(settings: Settings, names: _Names, job: Mapping[str, Any], survey: Mapping[str, Any] | None) -> dict[str, Any]:
    """A list that is given replaces what is attached, so lists that nobody named are left out."""
    # AWX deletes the working directory of a job when it ends.
    kept = {"switch_upgrade_state_file": f"{settings['history_path']}/switch_upgrade.json",
            "adopt_inventory": f"{settings['history_path']}/adopted"} if names.pages else {}
    return {
        "name": names.of(job["name"]), "organization": names.organization, "description": job["text"], "job_type": "run", "project": names.of("project"),
        "inventory": names.of("hosts"), "playbook": f"{settings['playbooks']}/{job['name']}.yml",
        "extra_vars": {**kept, **(questions.conversions(survey) if survey else {})},
        "survey_enabled": survey is not None, "survey_spec": survey or {}, "ask_variables_on_launch": True, "ask_job_type_on_launch": True,
        "ask_diff_mode_on_launch": True, "ask_limit_on_launch": False,
        # The pairs of hosts must not be cut into slices, nor measured twice at a time. Parts of the fabric have no host in common. AWX runs the slices of one
        # job at the same time in any case.
        "allow_simultaneous": job["name"] == "check_fabric" and bool(names.parts),
        "job_slice_count": settings["bring_up_slices"] if job["name"] == "bring_up" else 1,
        **({"credentials": names.credentials} if names.credentials_known else {}),
        **({"notification_templates_error": names.notifications} if names.notifications else {}),
        **_given(settings, labels="labels", instance_groups="instance_groups"),
    }


def _workflows(settings: Settings, names: _Names) -> Iterator[dict[str, Any]]:
    yield _workflow(settings, names, jobs.WORKFLOW, jobs.WORKFLOW_TEXT, jobs.nodes(names.pages, settings["bring_up_slices"] > 1))
    if names.parts:
        yield _workflow(settings, names, jobs.PARTS_WORKFLOW, jobs.PARTS_WORKFLOW_TEXT, jobs.nodes_of_parts(names.parts))


def _workflow(settings: Settings, names: _Names, name: str, text: str, planned: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    nodes = [{"identifier": node["identifier"], "unified_job_template": names.of(node["job"]), "lookup_organization": names.organization,
              **{key: value for key, value in node.items() if key not in ("identifier", "job")}} for node in planned]
    return {"name": names.of(name), "organization": names.organization, "description": text, "inventory": names.of("hosts"),
            "allow_simultaneous": False, **({"notification_templates_error": names.notifications} if names.notifications else {}),
            **_given(settings, labels="labels"), NODES: nodes}


def _schedules(settings: Settings, names: _Names) -> Iterator[dict[str, Any]]:
    for name, at, rule, plan in (("nightly quick check", settings["nightly_at"], "RRULE:FREQ=DAILY;INTERVAL=1", "quick"),
                                 ("weekly full check", settings["weekly_at"], f"RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY={settings['weekly_day']}", "full")):
        yield {"name": names.of(name), "organization": names.organization, "unified_job_template": names.of("check_fabric"),
               "rrule": f"DTSTART;TZID={settings['timezone']}:20260101T{at.replace(':', '')}00 {rule}", "extra_data": {"check_fabric_plan": plan},
               "enabled": settings["schedules_enabled"]}


def _roles(settings: Settings, names: _Names, workflows: Sequence[str]) -> Iterator[dict[str, Any]]:
    run = {"job_templates": names.templates, "workflows": workflows}
    change = {**run, "projects": [names.of("project")], "inventories": [names.of("hosts")]}
    for role, who, what in (("execute", "run", run), ("admin", "change", change)):
        actors = _given(settings, teams=f"{who}_teams", users=f"{who}_users")
        if any(actors.values()):
            yield {"role": role, **actors, **what, "lookup_organization": names.organization}


def calls(made: Objects) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the modules and options that create the objects, in this order. A node can be linked only to nodes that exist, so the last one comes first."""
    for kind in KINDS:
        for one in made.get(kind.variable, []):
            yield kind.module, {key: value for key, value in one.items() if key != NODES}
            for node in reversed(one.get(NODES, [])):
                yield "workflow_job_template_node", {**node, "workflow_job_template": one["name"], "organization": one["organization"]}


EVERYTHING: Settings = {"history_path": "/", "image": "none", "credential_inputs": {}, "notification_configuration": {}, "fabric_parts": ["npu"]}
"""With these settings, every object is created that the role can create."""


def removals(settings: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the modules and options that remove the objects that earlier calls created, with whatever settings, the dependent ones first."""
    made = objects({**settings, **EVERYTHING}, {})
    for kind in reversed(KINDS):
        for one in made.get(kind.variable, []) if kind.found_by else []:
            yield kind.module, {**{key: one[key] for key in kind.found_by if key in one}, "state": "absent"}
