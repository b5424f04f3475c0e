"""Test hccn_conf_mount on a simulated /proc: which containers have NPUs, which file they see, and the remedies."""

from __future__ import annotations

import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device import containers, mounts

CONF = "address_0=10.78.1.10\n"
ID = "5f0e2c1a7b9d4e3f8a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f"
OTHER = "0123456789abcdef" * 4
UID = "0d3c2b1a-1111-4222-8333-444455556666"
DOCKER = "0::/system.slice/docker-%s.scope\n" % ID
POD = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope\n" % (UID.replace("-", "_"), ID)
ROOT_CAPABILITIES = "000001ffffffffff"


class Machine:
    """A simulated host in a folder, with /proc, /dev and hccn.conf."""

    def __init__(self, folder):
        self.folder = folder
        self.proc = folder / "proc"
        self.dev = folder / "dev"
        self.path = folder / "host" / "hccn.conf"
        for one in (self.proc, self.dev, self.path.parent):
            one.mkdir()
        for device in range(4):
            self.npu(device)
        self.path.write_text(CONF)
        self.process(1, namespace="mnt:[1]", root=folder)
        (self.proc / "self").symlink_to("1")

    def npu(self, device):
        """Return the path of an NPU of the host. Its inode serves as device number, so that a hard link in a container is the same device."""
        path = self.dev / ("davinci%d" % device)
        path.touch()
        return path

    def root(self, name):
        """Create the root of a container with an NPU and no other files."""
        root = self.folder / name
        (root / "dev").mkdir(parents=True)
        (root / "etc").mkdir()
        os.link(str(self.npu(0)), str(root / "dev/davinci0"))
        (root / "dev/davinci_manager").touch()
        return root

    def process(self, pid, namespace, root, cgroup=DOCKER, held=(), command="python3", flags=0x400000, state="S", threads=1, uid=0,
                capabilities="0", mountinfo="", user="user:[1]", id_map=None):
        process = self.proc / str(pid)
        (process / "ns").mkdir(parents=True)
        (process / "fd").mkdir()
        for link, target in (("ns/mnt", namespace), ("ns/user", user), ("root", root)):
            (process / link).symlink_to(target)
        for number, target in enumerate(held):
            (process / "fd" / str(number)).symlink_to(target)
        numbers = [state, 1, 1, 1, 0, -1, flags] + [0] * 10 + [threads, 0, 9]
        status = "Name:\t%s\nUid:\t0\t0\t0\t%d\nGid:\t0\t0\t0\t%d\nGroups:\t\nCapEff:\t%s\n" % (command, uid, uid, capabilities)
        for name, text in (("cgroup", cgroup), ("comm", command + "\n"), ("status", status), ("mountinfo", mountinfo),
                           ("stat", "%d (a ) b) %s\n" % (pid, " ".join(map(str, numbers))))):
            (process / name).write_text(text)
        if id_map:
            (process / "uid_map").write_text(id_map)
            (process / "gid_map").write_text(id_map)
        return process

    def container(self, pid=100, name="c", **more):
        root = self.root(name)
        self.process(pid, namespace="mnt:[%d]" % pid, root=root, **more)
        return root

    def scan(self):
        return containers.scan(str(self.proc), str(self.dev))

    def manage(self, check_mode=False, **options):
        params = {"path": str(self.path), "container_path": "/etc/hccn.conf", "state": None, "cdi_dir": str(self.folder / "cdi"), "fail_on": "never"}
        params.update(options)
        return mounts.manage(params, check_mode, str(self.proc), str(self.dev))

    def map(self, root):
        """Create a hard link, which has the inode of the host's file like a mount of it."""
        os.link(str(self.path), str(root / "etc/hccn.conf"))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "_number", lambda entry: entry.st_ino)
    return Machine(tmp_path)


@pytest.mark.parametrize("cgroup, place", [
    (DOCKER, ("docker", ID, None)),
    ("12:pids:/docker/%s\n1:name=systemd:/docker/%s\n" % (ID, ID), ("docker", ID, None)),
    ("0::/docker/%s/docker/%s\n" % (OTHER, ID), ("docker", ID, None)),
    ("0::/docker/%s/system.slice/sshd.service\n" % ID, ("docker", ID, None)),
    (POD, ("containerd", ID, UID)),
    ("0::/kubepods/besteffort/pod%s/%s\n" % (UID, ID), ("kubernetes", ID, UID)),
    ("0::/kubepods/besteffort/pod%s/crio-%s\n" % (UID, ID), ("crio", ID, UID)),
    ("0::/kubepods.slice/kubepods-pod%s.slice/crio-%s.scope\n" % ("0a" * 16, ID), ("crio", ID, "0a" * 16)),
    ("0::/kubepods.slice/kubepods-pod%s.slice/crio-conmon-%s.scope\n" % (UID, ID), None),
    ("0::/system.slice/containerd.service/kubepods-pod%s.slice:cri-containerd:%s\n" % (UID.replace("-", "_"), ID), ("containerd", ID, UID)),
    ("0::/machine.slice/libpod-%s.scope/container\n" % ID, ("podman", ID, None)),
    ("0::/machine.slice/libpod-conmon-%s.scope\n" % ID, None),
    ("0::/system.slice/llm.service/libpod-payload-%s\n" % ID, ("podman", ID, None)),
    ("0::/system.slice/nerdctl-%s.scope\n" % ID, ("containerd", ID, None)),
    ("0::/isulad/%s\n" % ID, ("isulad", ID, None)),
    ("0::/default/%s\n" % ID, ("unknown", ID, None)),
    ("0::/lxc.payload.web/init.scope\n", ("lxc", "web", None)),
    ("4:memory:/\n0::/system.slice/sshd.service\n", None),
    ("0::/\n", None),
    ("", None),
])
def test_container_of_a_control_group(cgroup, place):
    found = containers.parse_cgroup(cgroup)
    assert (found and (found.runtime, found.container, found.pod_uid)) == place


def test_device_numbers_map_to_host_ids():
    host = {60416: 0, 60420: 4, 60516: 100}
    assert containers.ids({60420, 60416}, host) == {0, 4}
    assert containers.ids({60516, 1}, host) == {100}
    assert containers.ids({60420}, {}) == set()


def test_host_npus_are_its_device_files(tmp_path):
    """Links to character devices that exist on every host replace the NPUs."""
    for name, target in (("davinci3", "null"), ("vdavinci100", "zero"), ("davinci_manager", "full"), ("davinci5", "nowhere")):
        (tmp_path / name).symlink_to("/dev/" + target)
    (tmp_path / "davinci4").write_text("")
    assert containers.host_npus(str(tmp_path)) == {os.makedev(1, 3): 3, os.makedev(1, 5): 100}
    assert containers.host_npus(str(tmp_path / "nowhere")) == {}


def test_regular_file_named_like_an_npu_is_ignored(tmp_path):
    """In a user namespace, a process can create a file /dev/davinci0, but no device file."""
    machine = Machine(tmp_path)
    (machine.dev / "davinci0").unlink()
    (machine.dev / "davinci0").symlink_to("/dev/null")
    for pid, held in ((100, []), (101, [str(machine.dev / "davinci1")]), (102, ["/dev/davinci0"])):
        root = machine.container(pid, "c%d" % pid, held=held)
        (root / "dev/davinci1").symlink_to("/dev/null")
    assert (machine.scan().containers, machine.manage()["problems"]) == ((), [])


def test_processes_are_grouped_by_container(machine):
    root = machine.container(200, "one")
    machine.process(90, "mnt:[200]", root)
    machine.process(210, "mnt:[200]", root, held=["/dev/null", str(machine.npu(3)), "/dev/davinci_manager", "socket:[7]"])
    machine.container(150, "two", cgroup=POD)
    found = machine.scan()
    assert [(one.container, one.runtime, one.pod_uid, one.namespace, one.pids, one.devices) for one in found.containers] == [
        (ID, "docker", None, "mnt:[200]", (210, 90, 200), (0, 3)),
        (ID, "containerd", UID, "mnt:[150]", (150,), (0,)),
    ]
    assert (found.processes, found.uninspected, found.hidden) == (5, (), False)


def test_processes_that_are_no_container_with_npus(machine):
    machine.process(20, "mnt:[1]", machine.folder, held=[str(machine.npu(0))], cgroup="0::/user.slice\n")  # the host's own job
    machine.process(21, "mnt:[2]", machine.folder, cgroup="0::/system.slice/chronyd.service\n")  # a service with PrivateTmp=
    machine.process(22, "mnt:[3]", machine.folder, flags=0x200040, held=[str(machine.npu(0))])  # a kernel thread
    without = machine.folder / "plain"
    without.mkdir()
    machine.process(23, "mnt:[4]", without)
    odd = machine.folder / "odd"
    odd.mkdir()
    (odd / "dev").write_text("no folder")
    machine.process(24, "mnt:[5]", odd)
    assert machine.scan() == containers.Scan((), 6, (), False)


def test_process_without_engine_is_named_by_its_namespace(machine):
    deleted = machine.dev / "davinci11 (deleted)"
    os.link(str(machine.npu(11)), str(deleted))
    machine.process(21, "mnt:[2]", machine.folder, cgroup="0::/system.slice/train.service\n", held=[str(deleted)])
    machine.container(22, "c", cgroup="0::/user.slice\n")
    assert [(one.container, one.runtime, one.devices) for one in machine.scan().containers] == [
        ("mnt:[2]", "unknown", (11,)), ("mnt:[22]", "unknown", (0,))]


def test_host_without_npus_has_no_containers(machine):
    machine.container()
    for npu in machine.dev.iterdir():
        npu.unlink()
    machine.dev.rmdir()
    assert machine.scan().containers == ()


DENIED = PermissionError(13, "Permission denied")


def refuse(monkeypatch, refused, error=DENIED, call="readlink"):
    """Make a function of os fail for the given paths."""
    original = getattr(os, call)

    def wrapper(path, *arguments, **options):
        if str(path) in [str(one) for one in refused]:
            raise error
        return original(path, *arguments, **options)

    monkeypatch.setattr(os, call, wrapper)


def test_uninspected_processes_are_counted_and_named(machine, monkeypatch):
    for pid in (31, 32, 33, 34):
        machine.container(pid, "c%d" % pid)
    machine.process(35, "mnt:[35]", machine.folder, flags=0x200040)
    machine.process(36, "mnt:[36]", machine.folder)
    (machine.proc / "36/stat").unlink()
    paths = ["1/ns/mnt", "31/ns/mnt", "32/ns/mnt", "33/ns/mnt", "35/ns/mnt", "36/ns/mnt"]
    refuse(monkeypatch, [machine.proc / path for path in paths])
    result = machine.manage()
    assert [one["pid"] for one in result["containers"]] == [34]
    assert result["problems"][-1] == {
        "rule": "processes_unseen", "severity": "warning", "where": "/proc", "hint": "run as root (become: true)",
        "message": "4 of 7 processes could not be inspected: pid 31, 32, 33 and more. Their containers are not in the result"}


def test_process_with_unreadable_root_is_counted(machine):
    root = machine.container(31)
    (root / "dev/davinci0").unlink()
    (root / "dev/davinci_manager").unlink()
    (root / "dev").rmdir()
    (root / "dev").symlink_to("dev")
    assert machine.scan().uninspected == (31,)


def test_process_with_ended_main_thread_is_counted(machine):
    for pid, threads in ((31, 2), (32, 1)):
        process = machine.process(pid, "mnt:[9]", machine.folder, state="Z", threads=threads)
        (process / "ns/mnt").unlink()
    assert machine.scan().uninspected == (31,)


def test_hidden_processes_are_a_problem(machine):
    machine.process(2, "mnt:[1]", machine.folder)
    (machine.proc / "self").unlink()
    (machine.proc / "self").symlink_to("2")
    (machine.proc / "1").rename(machine.folder / "hidden")
    assert [problem["message"] for problem in machine.manage()["problems"]] == [
        "0 of 1 processes could not be inspected; /proc does not list processes of other users. Their containers are not in the result"]


def test_unreadable_proc_is_an_error(tmp_path):
    with pytest.raises(HccnError) as caught:
        containers.scan(str(tmp_path), "/nowhere")
    assert caught.value.message == "%s/self/ns/mnt: No such file or directory" % tmp_path


def test_file_that_is_closed_meanwhile_is_ignored(machine, monkeypatch):
    machine.container(held=[str(machine.npu(1)), str(machine.npu(2)), str(machine.npu(3))])
    refuse(monkeypatch, [machine.proc / "100/fd/0"], FileNotFoundError(2, "gone"))
    refuse(monkeypatch, [machine.proc / "100/fd/1"], FileNotFoundError(2, "gone"), "stat")
    assert [one.devices for one in machine.scan().containers] == [(0, 3)]


def only(result):
    (one,) = result["containers"]
    return one


def test_mapped_file(machine):
    machine.map(machine.container(capabilities=ROOT_CAPABILITIES))
    result = machine.manage()
    assert only(result) == {
        "container": ID, "runtime": "docker", "pod_uid": None, "pid": 100, "command": "python3", "pids": [100], "processes": 1, "devices": [0],
        "state": "mapped", "read_only": False, "remedy": None}
    assert (result["problems"], result["changed"], "failed" in result) == ([], False, False)


def test_docker_arguments_and_pod_volume(machine):
    result = machine.manage()
    path = str(machine.path)
    assert result["docker_args"] == ["-v", path + ":/etc/hccn.conf:ro"]
    assert result["pod_volume"] == {
        "volumes": [{"name": "hccn-conf", "hostPath": {"path": path, "type": "File"}}],
        "volumeMounts": [{"name": "hccn-conf", "mountPath": "/etc/hccn.conf", "readOnly": True}]}
    assert (result["cdi_spec"], result["cdi_device"]) == (str(machine.folder / "cdi/hccn-cluster-hccn-conf.json"), "hccn.cluster/conf=hccn-conf")


def test_missing_file(machine):
    machine.container()
    result = machine.manage(fail_on="error")
    remedy = "recreate the container with -v %s:/etc/hccn.conf:ro" % machine.path
    assert (only(result)["state"], only(result)["read_only"], only(result)["remedy"]) == ("missing", None, remedy)
    assert result["problems"] == [{
        "rule": "conf_not_mapped", "severity": "error", "where": "container 5f0e2c1a7b9d pid 100 (python3)", "hint": remedy,
        "message": "/etc/hccn.conf does not exist: ascend-docker-runtime mounts neither hccn.conf nor hccn_tool"}]
    assert result["failed"] is True
    assert result["msg"] == (
        "1 problem(s) with hccn.conf in containers, the first: container 5f0e2c1a7b9d pid 100 (python3): /etc/hccn.conf does not exist: "
        "ascend-docker-runtime mounts neither hccn.conf nor hccn_tool (%s)" % remedy)


@pytest.mark.parametrize("cgroup, remedy, where", [
    (POD, "add the returned pod_volume to the manifest of the pod and recreate the pod",
     "container 5f0e2c1a7b9d of pod %s pid 100 (a?b)" % UID),
    ("0::/lxc.payload.web\n", "mount {path} of the host read-only at /etc/hccn.conf in the container and restart it", "container web pid 100 (a?b)"),
])
def test_remedy_depends_on_the_engine(machine, cgroup, remedy, where):
    machine.container(cgroup=cgroup, command="a\x1bb")
    (problem,) = machine.manage()["problems"]
    assert (problem["hint"], problem["where"]) == (remedy.format(path=machine.path), where)


def test_copy_is_a_warning(machine):
    (machine.container() / "etc/hccn.conf").write_text(CONF)
    result = machine.manage(fail_on="error")
    assert only(result)["state"] == "copy"
    assert [(problem["rule"], problem["severity"]) for problem in result["problems"]] == [("conf_copied", "warning")]
    assert "failed" not in result
    assert machine.manage(fail_on="warning")["failed"] is True


@pytest.mark.parametrize("content", [CONF.replace("10.78", "10.79"), CONF + "mtu_0=4200\n", ""])
def test_different_file_of_the_container_is_stale(machine, content):
    (machine.container() / "etc/hccn.conf").write_text(content)
    (problem,) = machine.manage()["problems"]
    assert problem["message"] == "/etc/hccn.conf is a file of the container whose content differs from the host's %s" % machine.path
    assert problem["hint"] == "recreate the container with -v %s:/etc/hccn.conf:ro" % machine.path


@pytest.mark.parametrize("content", ["", CONF])
def test_empty_file_equals_only_an_empty_file(machine, content):
    machine.path.write_text("")
    (machine.container() / "etc/hccn.conf").write_text(content)
    assert only(machine.manage())["state"] == ("stale" if content else "copy")


@pytest.mark.parametrize("cgroup, how", [(DOCKER, "restart the container"), (POD, "delete the pod so that it is recreated")])
def test_file_is_stale_after_replacement_by_rename(machine, cgroup, how):
    mountinfo = "815 812 8:2 /etc/hccn.conf//deleted /etc/hccn.conf ro,relatime - ext4 /dev/sda2 rw\n"
    machine.map(machine.container(cgroup=cgroup, mountinfo=mountinfo))
    (machine.folder / "new").write_text("address_0=10.78.1.99\n")
    (machine.folder / "new").replace(machine.path)
    result = machine.manage()
    assert only(result)["state"] == "stale"
    assert [(problem["rule"], problem["message"], problem["hint"]) for problem in result["problems"]] == [(
        "conf_stale",
        "/etc/hccn.conf is an older file: the host's %s was replaced (by rename) or removed after the container had started" % machine.path,
        how + ", which then mounts the current file; hccn.cluster.hccn_conf edits the file in place, so that later changes need no restart")]


def test_user_that_may_not_read_the_file(machine):
    machine.path.chmod(0o600)
    machine.map(machine.container(uid=4000000000))
    (problem,) = machine.manage()["problems"]
    assert (problem["rule"], problem["message"]) == ("conf_unreadable", "the user of the process may not read /etc/hccn.conf")
    assert problem["hint"] == "make the host's file readable for every user: chmod 0644 %s" % machine.path


def test_root_of_a_user_namespace_has_rights_for_its_ids_only(machine):
    root = machine.container(capabilities=ROOT_CAPABILITIES, uid=4000000000, user="user:[2]", id_map="0 4000000000 65536\n")
    (root / "etc/hccn.conf").write_text(CONF)
    (root / "etc/hccn.conf").chmod(0o600)
    result = machine.manage()
    assert only(result)["state"] == "unreadable"
    assert result["problems"][0]["hint"] == "recreate the container with -v %s:/etc/hccn.conf:ro" % machine.path


def test_kernel_without_user_namespaces(machine):
    machine.path.chmod(0o600)
    machine.map(machine.container(capabilities=ROOT_CAPABILITIES, user="user:[2]"))
    assert only(machine.manage())["state"] == "mapped"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_non_regular_file_is_not_opened(machine, make):
    make(str(machine.container() / "etc/hccn.conf"))
    result = machine.manage()
    assert only(result)["state"] == "unreadable"
    assert result["problems"][0]["message"] == "/etc/hccn.conf is not a regular file; docker -v creates a folder if the file is missing on the host"


def test_links_are_followed_within_the_container(machine):
    root = machine.container()
    (root / "etc/hccn.conf").symlink_to(str(machine.path))
    assert only(machine.manage())["state"] == "missing"


@pytest.mark.parametrize("error, hint", [
    (DENIED, "run as root (become: true)"),
    (OSError(5, "Input/output error"), "check what is mounted there"),
])
def test_file_that_cannot_be_inspected(machine, monkeypatch, error, hint):
    machine.map(machine.container())
    refuse(monkeypatch, ["hccn.conf"], error, "open")
    (problem,) = machine.manage()["problems"]
    assert (problem["rule"], problem["message"], problem["hint"]) == (
        "conf_unreadable", "/etc/hccn.conf could not be inspected: %s" % error.strerror, hint)


def test_next_process_is_probed_if_the_first_has_ended(machine):
    root = machine.container(held=[str(machine.npu(0))])
    machine.map(root)
    machine.process(101, "mnt:[100]", root)
    scan = machine.scan()
    (machine.proc / "100/comm").unlink()
    host, ends = mounts.host_file(str(machine.path)), mounts.MountPaths(str(machine.path), "/etc/hccn.conf")
    assert mounts.probe(scan.containers[0], host, ends, str(machine.proc)).pid == 101
    (machine.proc / "101/ns/mnt").unlink()
    (machine.proc / "101/ns/mnt").symlink_to("mnt:[7]")  # the number was given to another process
    assert mounts.probe(scan.containers[0], host, ends, str(machine.proc)) is None


def test_container_that_ends_meanwhile_is_ignored(machine):
    machine.container()
    (machine.proc / "100/comm").unlink()
    assert [one.pids for one in machine.scan().containers] == [(100,)]
    result = machine.manage()
    assert (result["containers"], result["problems"]) == ([], [])


def test_list_of_pids_is_limited(machine):
    root = machine.container()
    for pid in range(101, 251):
        machine.process(pid, "mnt:[100]", root)
    one = only(machine.manage())
    assert (one["processes"], one["pids"]) == (151, list(range(100, 200)))


def test_missing_host_file(machine):
    machine.map(machine.container())
    machine.path.unlink()
    result = machine.manage()
    assert [(problem["rule"], problem["where"]) for problem in result["problems"]] == [
        ("host_conf_missing", str(machine.path)), ("conf_stale", "container 5f0e2c1a7b9d pid 100 (python3)")]


def test_folder_in_place_of_the_host_file(machine):
    machine.path.unlink()
    machine.path.mkdir()
    assert [problem["rule"] for problem in machine.manage()["problems"]] == ["host_conf_no_file"]


def test_unreadable_host_file(machine, monkeypatch):
    refuse(monkeypatch, [machine.path], DENIED, "stat")
    with pytest.raises(HccnError) as caught:
        machine.manage()
    assert (caught.value.code, caught.value.message) == ("conf_unreadable", "%s: Permission denied" % machine.path)


@pytest.mark.parametrize("option, path, message", [
    ("path", "etc/hccn.conf", "path: 'etc/hccn.conf' is not an absolute path"),
    ("container_path", "/a:b", "container_path: '/a:b' contains a colon or a control character, which docker -v does not accept"),
    ("cdi_dir", "/etc\n", "cdi_dir: '/etc\\n' contains a colon or a control character, which docker -v does not accept"),
])
def test_invalid_paths_are_refused(machine, option, path, message):
    with pytest.raises(HccnError) as caught:
        machine.manage(**{option: path})
    assert (caught.value.code, caught.value.message) == ("invalid_input", message)


@pytest.mark.parametrize("check_mode", [True, False])
def test_no_spec_for_a_file_that_does_not_exist(machine, check_mode):
    """A container with the device of such a spec could not start."""
    machine.path.unlink()
    result = machine.manage(check_mode, state="present")
    assert (result["changed"], result["failed"], (machine.folder / "cdi").exists()) == (False, True, False)
    assert result["diff"]["before"] == result["diff"]["after"] == ""
    assert result["msg"].startswith("the CDI spec was not written, since containers with its device could not start: 1 problem(s) with hccn.conf in containers")
    assert machine.manage(check_mode, state="absent")["changed"] is False


def test_spec_is_written_and_removed_idempotently(machine):
    spec = machine.folder / "cdi/hccn-cluster-hccn-conf.json"
    predicted = machine.manage(True, state="present")
    assert (predicted["changed"], spec.exists()) == (True, False)
    assert machine.manage()["cdi_state"] == "absent"
    first = machine.manage(state="present")
    assert machine.manage()["cdi_state"] == "current"
    assert (first["changed"], first["diff"]["before"], first["diff"]["after"]) == (True, "", spec.read_text())
    assert first["diff"] == predicted["diff"]
    assert machine.manage(state="present")["changed"] is False
    (machine.folder / "moved").write_text(CONF)
    assert machine.manage(path=str(machine.folder / "moved"))["cdi_state"] == "different"
    assert machine.manage(state="present", path=str(machine.folder / "moved"))["changed"] is True
    assert machine.manage()["changed"] is False
    assert (machine.manage(True, state="absent")["changed"], spec.exists()) == (True, True)
    last = machine.manage(state="absent")
    assert (last["changed"], last["diff"]["after"], spec.exists()) == (True, "", False)
    assert machine.manage(state="absent")["changed"] is False
