from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf.proxy import Proxy


def test_variables_in_both_spellings():
    proxy = Proxy("http://op:s3cret%40@proxy.example:3128", "http://proxy.example:3129/", ["localhost", ".example.com", "10.0.0.0/8", "[fd00::1]", "*"])
    own = {"http_proxy": "http://op:s3cret%40@proxy.example:3128", "https_proxy": "http://proxy.example:3129/",
           "no_proxy": "localhost,.example.com,10.0.0.0/8,[fd00::1],*"}
    assert proxy.environment() == {**own, "HTTP_PROXY": own["http_proxy"], "HTTPS_PROXY": own["https_proxy"], "NO_PROXY": own["no_proxy"]}
    assert Proxy().environment() == {}
    assert Proxy(excluded=[]).environment() == {"no_proxy": "", "NO_PROXY": ""}


@pytest.mark.parametrize("url", [
    "proxy.example:3128", "ftp://op:hunter2@proxy.example", "http://op:hunter2@", "http://op:hunter2@proxy.example:port", "http://op:hun/ter2@proxy.example",
    "http://op:hunter2@proxy.example:0", "http://op:hunter2@proxy.example/path", "http://op:hun?ter2@proxy.example", "http://op:hunter2@proxy.example\nx",
    "http://op:h\u00fcnter2@proxy.example", "http://op:hunter2@proxy.example:99999", "",
])
@pytest.mark.parametrize("name", ["http_proxy", "https_proxy"])
def test_invalid_urls_are_not_shown(url, name):
    with pytest.raises(InputError) as caught:
        Proxy(**{name.split("_")[0]: url})
    assert caught.value.sentence() == (
        f"{name} is not a URL of the form http://USER:PASSWORD@HOST:PORT (it is not shown, since it may contain a password) "
        "(write characters such as / ? # @ and % in user and password as %2F %3F %23 %40 and %25)")


def test_invalid_exclusion():
    with pytest.raises(InputError, match="no_proxy: 'a b' is not the name of a host or domain"):
        Proxy(excluded=["localhost", "a b"])


@pytest.mark.parametrize("text, expected", [
    ("no secret here", "no secret here"),
    ("via http://op:pw@other.example:3128 failed", "via http://(hidden)@other.example:3128 failed"),
    ("via http://op:s3cret%40@proxy.example:3128 failed", "via http://(hidden)@proxy.example:3128 failed"),
    ("the password s3cret@ is wrong, and so is s3cret%40.", "the password (hidden) is wrong, and so is (hidden)."),
    ("user op", "user op"),
])
def test_password_is_hidden(text, expected):
    assert Proxy("http://op:s3cret%40@proxy.example:3128").hide(text) == expected


def test_short_password_is_hidden_in_urls_only():
    assert Proxy(https="http://op:abc@proxy.example").hide("http://op:abc@proxy.example says abc") == "http://(hidden)@proxy.example says abc"
