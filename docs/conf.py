"""Settings of Sphinx for ``make docs``. Nothing is downloaded: links to the documentation of Ansible are derived from its labels."""

from __future__ import annotations

from typing import Any

from docutils import nodes

project = "hccn.cluster"
author = "The hccn.cluster authors"
copyright = author  # noqa: A001 - Sphinx requires this name
extensions = ["sphinx_antsibull_ext"]
html_theme = "alabaster"
html_theme_options = {"description": "Ascend NPU clusters from bare hosts to a measured fabric", "fixed_sidebar": True, "page_width": "1200px"}
html_show_copyright = False
nitpicky = True

ANSIBLE = "https://docs.ansible.com/ansible/latest/"
PAGES = {"action_plugins": "plugins/action.html", "callback_plugins": "plugins/callback.html", "lookup_plugins": "plugins/lookup.html",
         "ansible_configuration_settings": "reference_appendices/config.html", "common_return_values": "reference_appendices/common_return_values.html"}


def address(label: str) -> str | None:
    """Return the address of a label or environment variable in the documentation of Ansible, or None if it is not Ansible's."""
    if label.startswith("ansible_collections.ansible.builtin."):
        page, _, anchor = label.removeprefix("ansible_collections.").partition("__")
        return ANSIBLE + "collections/" + page.replace(".", "/") + ".html" + (f"#{anchor}" if anchor else "")
    if label.startswith("ANSIBLE_"):
        return f"{ANSIBLE}reference_appendices/config.html#envvar-{label}"
    return ANSIBLE + PAGES[label] if label in PAGES else None


def link(_app: Any, _env: Any, node: Any, content: Any) -> nodes.reference | None:
    uri = address(node["reftarget"])
    return nodes.reference("", "", content, internal=False, refuri=uri) if uri else None


def setup(app: Any) -> None:
    app.connect("missing-reference", link)
