from __future__ import annotations

import fcntl
import os
import threading

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, conf_check, conf_file

TEXT = """# NPU 0
address_0=10.78.1.10
netmask_0=255.255.255.0
gateway_0=10.78.1.1
arp_0=-i eth0 -s 10.78.1.7 bc:1e:85:00:00:07
arp_0=-i eth0 -s 10.78.1.8 bc:1e:85:00:00:08
route_address_20.0.0.0_netmask_255.0.0.0_0=gateway_10.78.1.1
gateway_11=10.78.1.1
"""


def test_settings_keep_the_order_of_the_file():
    found = [(setting.device, setting.key, setting.line) for setting in conf.settings(TEXT)]
    assert found == [(0, "address", 2), (0, "netmask", 3), (0, "gateway", 4), (0, "arp", 5), (0, "arp", 6),
                     (0, "route_address_20.0.0.0_netmask_255.0.0.0", 7), (11, "gateway", 8)]


@pytest.mark.parametrize("line", ["", "\n", "a\n", "#address_0=1.2.3.4\n", "address_0 = 1.2.3.4\n", "address=1.2.3.4\n", "some words\n",
                                  "address_%s=1.2.3.4\n" % ("1" * 5000)])
def test_ignored_lines(line):
    assert conf.parse_line(line) is None


def test_first_line_of_a_key_counts():
    assert conf.value_of("mtu_0=1500\nmtu_0=4200\n", 0, "mtu") == "1500"
    assert conf.value_of("mtu_0=1500\n", 1, "mtu") is None


@pytest.mark.parametrize("edits, old, new", [
    ({(0, "gateway"): ["10.78.1.254"]}, "gateway_0=10.78.1.1\n", "gateway_0=10.78.1.254\n"),
    ({(0, "netmask"): []}, "netmask_0=255.255.255.0\n", ""),
    ({(0, "arp"): ["-i eth0 -s 10.78.1.8 bc:1e:85:00:00:08"]}, "arp_0=-i eth0 -s 10.78.1.7 bc:1e:85:00:00:07\n", ""),
    ({(0, "address"): ["10.78.1.10"]}, "", ""),
])
def test_edit_changes_only_its_keys(edits, old, new):
    assert conf.edit(TEXT, edits) == TEXT.replace(old, new, 1)


def test_new_keys_are_appended():
    assert conf.edit("mtu_0=1500\n", {(1, "mtu"): ["4200"], (0, "arp"): ["a", "b"]}) == "mtu_0=1500\nmtu_1=4200\narp_0=a\narp_0=b\n"
    assert conf.edit("", {(0, "mtu"): ["1500"]}) == "mtu_0=1500\n"


def test_duplicate_lines_of_an_edited_key_are_removed():
    assert conf.edit("mtu_0=1\n#mtu_0=2\nmtu_0=3\n", {(0, "mtu"): ["3"]}) == "mtu_0=3\n#mtu_0=2\n"


def test_missing_final_newline_is_added():
    assert conf.edit("mtu_0=1500", {}) == "mtu_0=1500\n"
    assert conf.ends_in_newline("") and conf.ends_in_newline("a\n") and not conf.ends_in_newline("a")


def test_lines_are_split_at_lf_only():
    assert conf.lines_of("a\x0bb\x0c\u2028\nc") == ["a\x0bb\x0c\u2028\n", "c"]


def problems(text, present=None):
    return [(problem.rule, problem.severity, problem.where, problem.device) for problem in conf_check.check(text, present)]


def test_valid_file_has_no_problems():
    assert problems(TEXT.replace("gateway_11=10.78.1.1\n", "").replace("arp_0=-i eth0 -s 10.78.1.8 bc:1e:85:00:00:08\n", "")) == []
    assert problems("") == []


@pytest.mark.parametrize("text, expected", [
    ("mtu_0=1500", [("final_newline", "warning", "line 1", None)]),
    ("tls_enable_0=1", [("final_newline", "error", "line 1", 0)]),
    ("address_0=10.0.0.1\nnetmask_0=255.0.0.0", [("final_newline", "error", "line 2", 0)]),
    ("mtu_0=1500\r\nmtu_1=1500\r\n", [("carriage_return", "error", "line 1", 0), ("carriage_return", "error", "line 2", 1)]),
    ("# comment\r\n", [("carriage_return", "warning", "line 1", None)]),
    ("x_0=" + "y" * 381 + "\n", [("line_length", "warning", "line 1", None)]),
    ("#" + "y" * 382 + "tls_enable_0=2\n", [("invalid_value", "error", "line 1", 0), ("line_length", "warning", "line 1", None)]),
    ("tls_enable_0 = 1\n", [("blank_around_equals", "warning", "line 1", None)]),
    ("mtu_0= 1500\n", [("blank_around_equals", "error", "line 1", 0)]),
    ("tls_enable_0= 1\n", []),
    ("tls_enable_00=1\n", [("ignored_line", "warning", "line 1", None)]),
    ("TLS_ENABLE_0=1\n", [("misspelt_key", "warning", "line 1", 0)]),
    ("what is this\n", [("ignored_line", "warning", "line 1", None)]),
    ("   \n\n#comment\n", []),
    ("netdetect_1=10.0.0.1address_0=10.0.0.10\n", [("glued_key", "error", "line 1", 1)]),
    ("netdetect_0=10.0.0.300\n", [("invalid_value", "error", "line 1", 0)]),
    ("tls_enable_0=2\n", [("invalid_value", "error", "line 1", 0)]),
    ("IPv6address_0=fd00::1\nIPv6netmask_0=129\n", [("invalid_value", "error", "line 2", 0)]),
    ("IPv6gateway_0=10.0.0.1\n", [("invalid_value", "error", "line 1", 0)]),
    ("address_0=10.0.0.1\nnetmask_0=255.0.255.0\n", [("invalid_value", "error", "line 2", 0)]),
    ("address_0=10.0.0.1\nnetmask_0=24\n", [("invalid_value", "error", "line 2", 0)]),
    ("address_0=10.0.0.1\nnetmask_0=0.0.0.255\n", [("invalid_value", "error", "line 2", 0)]),
    ("address_0=10.0.0.1\nnetmask_0=255.255.255.255\naddress_1=10.0.0.2\nnetmask_1=0.0.0.0\n", []),
    ("mtu_0=1500\nmtu_0=4200\n", [("duplicate_key", "warning", "line 2", 0)]),
    ("address_0=10.0.0.1\n", [("incomplete_address", "warning", "line 1", 0)]),
    ("netmask_0=255.0.0.0\n", [("incomplete_address", "warning", "line 1", 0)]),
    ("IPv6address_0=fd00::1\n", [("incomplete_address", "warning", "line 1", 0)]),
    ("gateway_0=10.0.0.1\n", []),
    ("address_0=10.0.0.9\nnetmask_0=255.255.255.0\ngateway_0=10.0.1.1\n", [("gateway_outside_network", "warning", "line 3", 0)]),
    ("address_0=10.0.0.9\nnetmask_0=255.255.255.0\naddress_1=10.0.0.9\nnetmask_1=255.255.255.0\n", [("duplicate_address", "warning", "line 3", 1)]),
])
def test_each_rule_reports_its_problem(text, expected):
    assert problems(text) == expected


def test_invalid_address_with_a_gateway_is_reported_once():
    assert problems("address_0=10.0.0.x\nnetmask_0=255.255.255.0\ngateway_0=10.0.1.1\n") == [("invalid_value", "error", "line 1", 0)]


@pytest.mark.parametrize("key, meant", [("adress", "address"), ("gatway", "gateway"), ("ip_rout", "ip_route"), ("tls_enabled", "tls_enable")])
def test_misspelt_key_is_reported(key, meant):
    (problem,) = conf_check.check("%s_3=1\n" % key)
    assert (problem.rule, problem.severity, problem.device, problem.where) == ("misspelt_key", "warning", 3, "line 1")
    assert problem.message == "%s_3: %s is not a known key of hccn_tool" % (key, key)
    assert problem.hint == "did you mean %s?" % meant


@pytest.mark.parametrize("key", ["dcqcn_parameter", "down_fault_time", "pfc_storm_watchdog_enable", "vlan", "IPv6route_address_fd00::/64"])
def test_unknown_keys_are_not_reported(key):
    assert conf_check.check("%s_3=1\n" % key) == []


def test_settings_of_absent_devices_are_reported():
    assert problems(TEXT.replace("arp_0", "#"), [0]) == [("absent_device", "warning", "line 8", 11)]
    assert problems(TEXT.replace("arp_0", "#"), [0, 11]) == []


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "hccn.conf"
    file.write_text(TEXT)
    return str(file)


def text_of(path):
    with open(path) as stream:
        return stream.read()


def test_change_keeps_the_inode(path):
    inode = os.stat(path).st_ino
    assert conf_file.change(path, lambda text: text + "mtu_0=1500\n", 5) is True
    assert conf_file.change(path, lambda text: text, 5) is False
    assert (os.stat(path).st_ino, text_of(path)) == (inode, TEXT + "mtu_0=1500\n")


def test_shorter_text_truncates_the_file(path):
    kept = []
    assert conf_file.change(path, lambda text: "mtu_0=1500\n", 5, kept.append) is True
    assert (text_of(path), kept) == ("mtu_0=1500\n", [TEXT])


def test_non_utf_8_bytes_are_preserved(path):
    with open(path, "wb") as stream:
        stream.write(b"#\xff\xfe\n")
    conf_file.change(path, lambda text: text + "mtu_0=1500\n", 5)
    with open(path, "rb") as stream:
        assert stream.read() == b"#\xff\xfe\nmtu_0=1500\n"


def test_locked_file_is_an_error_after_the_timeout(path):
    with open(path) as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(HccnError) as caught:
            conf_file.change(path, lambda text: "", 0.2)
        assert (caught.value.code, text_of(path)) == ("conf_locked", TEXT)
        assert caught.value.message.startswith("%s stayed locked for 0 s by pid %d (" % (path, os.getpid()))
        release = threading.Timer(0.3, lambda: fcntl.flock(holder, fcntl.LOCK_UN))
        release.start()
        assert conf_file.change(path, lambda text: text + "mtu_0=1500\n", 10) is True
        release.join(10)


def test_missing_file(tmp_path):
    path = str(tmp_path / "hccn.conf")
    assert conf_file.read(path) is None
    with pytest.raises(HccnError) as caught:
        conf_file.change(path, lambda text: text, 5)
    assert (caught.value.code, caught.value.message) == ("conf_missing", path + " does not exist")
    conf_file.create(path)
    assert (text_of(path), os.stat(path).st_mode & 0o777 & ~0o644) == ("", 0)


def test_read_and_write_errors_name_the_file(tmp_path):
    folder = str(tmp_path)
    for call in (lambda: conf_file.read(folder), lambda: conf_file.change(folder, str, 5), lambda: conf_file.create(folder + "/no/hccn.conf")):
        with pytest.raises(HccnError) as caught:
            call()
        assert caught.value.code in ("conf_unreadable", "conf_unwritable")


def test_too_large_file_is_refused(path, monkeypatch):
    monkeypatch.setattr(conf_file, "MAX_BYTES", 10)
    with pytest.raises(HccnError) as caught:
        conf_file.read(path)
    assert caught.value.code == "conf_too_large"


LONGER, SHORTER = TEXT.replace("gateway_0=10.78.1.1\n", "gateway_0=10.78.1.254\nmtu_0=4200\n") + "mtu_1=4200\n", "address_0=10.78.1.10\nmtu_0=1500\n"
CALLS = ("posix_fallocate", "pwrite", "ftruncate", "fsync")
"""System calls that write a file."""


def before_each_call(monkeypatch, action):
    """Call ``action(number)`` before each of these calls, counted from 1."""
    numbers = []

    def instead_of(true):
        def call(*arguments):
            numbers.append(len(numbers) + 1)
            action(len(numbers))
            return true(*arguments)
        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, instead_of(getattr(os, name)))
    return numbers


@pytest.mark.parametrize("text", [LONGER, SHORTER, TEXT + "mtu_1=4200\n", TEXT.replace("10.78.1.1\n", "10.79.1.1\n"), ""])
@pytest.mark.parametrize("old", [TEXT, TEXT.rstrip("\n")])
def test_file_is_old_or_new_after_each_system_call(path, monkeypatch, old, text):
    """The process may be killed there. hccn_tool ignores empty lines."""
    with open(path, "w") as stream:
        stream.write(old)
    seen = []
    numbers = before_each_call(monkeypatch, lambda number: seen.append(text_of(path)))
    conf_file.change(path, lambda _old: text, 5)
    assert (text_of(path), len(numbers) >= 3) == (text, True)
    for content in seen:
        assert content.rstrip("\n") in (old.rstrip("\n"), text.rstrip("\n"))


@pytest.mark.parametrize("text", [LONGER, SHORTER])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_failure_of_any_system_call_restores_the_old_text(path, monkeypatch, text, failure):
    """Each call fails in turn, with a disk that is then full for a file that grows."""
    with open(path, "rb") as stream:
        before = stream.read()
    fails_at = 1
    while True:
        def fail(number, at=fails_at):
            if number == at:
                raise failure

        with monkeypatch.context() as patch:
            numbers = before_each_call(patch, fail)
            try:
                assert conf_file.change(path, lambda _old: text, 5) is True
                break
            except HccnError as error:
                assert (error.code, error.message) == ("conf_unwritable", path + ": No space left on device; the file holds its old content")
                assert isinstance(failure, OSError)
            except (KeyboardInterrupt, MemoryError) as error:
                assert error is failure
        assert len(numbers) >= fails_at
        with open(path, "rb") as stream:
            assert stream.read() == before
        fails_at += 1
    assert (fails_at > 3, text_of(path)) == (True, text)


def test_damaged_file_is_reported_if_restoring_fails(path, monkeypatch):
    """Restoring the old text fails as well."""
    true = os.pwrite

    def fail(descriptor, content, offset):
        if len(content) > 5:
            true(descriptor, content[:5], offset)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(HccnError) as caught:
        conf_file.change(path, lambda text: "mtu_0=1500\n" + text, 5)
    monkeypatch.undo()
    assert (caught.value.code, caught.value.message) == (
        "conf_damaged", "%s: Input/output error, and the old content could not be put back: the file holds %d bytes that are neither the old nor the new text"
        % (path, os.stat(path).st_size))


def test_short_write_is_continued(path, monkeypatch):
    true = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, content, offset: true(descriptor, content[:5], offset))
    assert conf_file.change(path, lambda text: "mtu_0=1500\n" + text, 5) is True
    assert text_of(path) == "mtu_0=1500\n" + TEXT


DAMAGED = "address_0=10.78.1.10\nnetmask_0=255.255.255.0\n" + "\0" * 4000
"""A file that an earlier release damaged on a full disk."""


def test_nul_bytes_are_not_content():
    assert [setting.full_key for setting in conf.settings(DAMAGED + "mtu_0=4200\n")] == ["address_0", "netmask_0"], "a C string ends there"
    assert conf.value_of("address_0=10.78.1.10\0\0", 0, "address") == "10.78.1.10"
    assert (conf.ends_in_newline(DAMAGED), conf.ends_in_newline(DAMAGED + "mtu_0=4200\n")) == (False, True)


@pytest.mark.parametrize("text, repaired", [
    ("mtu_0=1500\n\0\0\0", "mtu_0=1500\n"), ("mtu_0=1500\0\0", "mtu_0=1500\n"), ("\0\0", ""), ("\0\0mtu_0=1500\n", "mtu_0=1500\n"),
    ("mtu_0=1500\n\0\0mtu_1=1500\n\0", "mtu_0=1500\nmtu_1=1500\n"), ("mtu_0=1500\0\0\nmtu_1=1500\n", "mtu_0=1500\nmtu_1=1500\n"),
    ("mtu_0=1500\0mtu_1=1500\n", "mtu_0=1500\nmtu_1=1500\n"), ("mtu_0=1500\n\n", "mtu_0=1500\n\n")])
def test_edit_removes_only_nul_bytes(text, repaired):
    assert conf.edit(text, {}) == repaired
    assert conf.edit(repaired, {}) == repaired


@pytest.mark.parametrize("text, severity, where, message", [
    (DAMAGED, "warning", "line 3", "4000 NUL bytes from an interrupted write: hccn_tool ignores the rest of such a line, and its next write joins the line to "
     "the following one"),
    (DAMAGED.replace("0\n\0", "0\0"), "error", "line 2", "recovery drops the end of the line at the NUL byte, joins the next line to it, and fails: "
     "netmask_0: '255.255.255.0xsfp_reset_max_times_0=0' has more than the 19 characters that hccn_tool reads")])
def test_nul_bytes_are_reported(text, severity, where, message):
    problem = conf_check.check(text)[0]
    assert (problem.rule, problem.severity, problem.where, problem.message) == ("nul_bytes", severity, where, message)
    assert problem.hint in ("hccn.cluster.hccn_conf removes them", "hccn.cluster.hccn_conf removes the NUL bytes")


def test_file_that_ends_in_nul_bytes_is_not_writable(path):
    with pytest.raises(HccnError) as caught:
        conf_file.require_writable(path, DAMAGED)
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "nul_bytes", path + " ends in NUL bytes from an interrupted write: hccn_tool would append the next setting to the last line",
        "hccn.cluster.hccn_conf removes them")


def test_error_of_flock_is_raised(path, monkeypatch):
    def broken(descriptor, operation):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError):
        conf_file.change(path, str, 0.2)
