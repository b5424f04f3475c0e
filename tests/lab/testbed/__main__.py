"""python -m tests.lab.testbed up|down|status|exec|fault|heal: hosts made from namespaces on this machine."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from . import faults
from .lab import down, environment, load, require, up
from .plan import DEVICES, LabError, Settings


def default_folder() -> Path:
    folder = os.environ.get("HCCN_TESTBED_DIR")
    if folder:
        return Path(folder)
    return Path("/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", f"/tmp/{os.getuid()}"), "hccn-testbed")


def parser() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--dir", type=Path, default=default_folder(), help="folder of the lab's inventory, keys and record (also HCCN_TESTBED_DIR)")
    top = argparse.ArgumentParser(prog="python -m tests.lab.testbed", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    start = commands.add_parser("up", parents=[where], help="start hosts: node1, node2, ...")
    start.add_argument("-n", type=int, default=4, help="number of hosts (4)")
    start.add_argument("--product", choices=list(DEVICES), default="A2")
    start.add_argument("--products", help="the product of each host, for example A2,A2,A3,A3")
    start.add_argument("--npus", type=int, help="devices per host, by default the number of its product; on A3 a device is a die")
    start.add_argument("--leaf-size", type=int, default=Settings.leaf_size, help=f"hosts per leaf switch ({Settings.leaf_size})")
    start.add_argument("--spines", type=int, default=Settings.spines, help="spine switches; the source port of a connection chooses one (1)")
    start.add_argument("--link-rate", default=Settings.link_rate, help=f"rate of each NPU's link ({Settings.link_rate})")
    start.add_argument("--python", default=Settings.python, help="Ansible's Python on the hosts; make its folder available with --expose")
    start.add_argument("--expose", action="append", default=[], metavar="DIR", help="a folder of this machine that the hosts can read at the same path")
    start.add_argument("--state", action="append", default=[], metavar="KEY=VALUE", help="state of the devices of all hosts, for example *.tls=1")
    start.add_argument("--rootless", action="store_true", help="run without root, if the kernel allows it")
    commands.add_parser("check", help="check whether this machine can run a lab; as root, install missing packages")
    commands.add_parser("down", parents=[where], help="end the lab and remove its files")
    commands.add_parser("status", parents=[where], help="print which hosts are up")
    run = commands.add_parser("exec", parents=[where], help="run a command on a host: exec node1 -- hostname")
    run.add_argument("host")
    run.add_argument("argv", nargs=argparse.REMAINDER)
    wrong = commands.add_parser("fault", parents=[where], help="inject a fault", description=faults.__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    wrong.add_argument("target", help="a host, leaf:K, or leaf:K:S")
    wrong.add_argument("what", nargs="?", default="", choices=["", *faults.WHAT])
    wrong.add_argument("--npu", type=int)
    wrong.add_argument("--rate", default="")
    wrong.add_argument("--link-down", action="store_true")
    right = commands.add_parser("heal", parents=[where], help="remove all faults of a host or a leaf")
    right.add_argument("target")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        return {"check": do_check, "up": do_up, "down": do_down, "status": do_status, "exec": do_exec, "fault": do_fault, "heal": do_heal}[args.command](args)
    except LabError as error:
        print(f"testbed: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"testbed: {' '.join(error.cmd)}: {(error.stderr or '').strip()}", file=sys.stderr)
    return 1


def do_check(_args: argparse.Namespace) -> int:
    require()
    return 0


def do_up(args: argparse.Namespace) -> int:
    started = time.monotonic()
    products = tuple(args.products.split(",")) if args.products else (args.product,) * args.n
    expose = tuple(str(Path(path).absolute()) for path in args.expose)
    wanted = Settings(products, args.npus, args.leaf_size, args.spines, args.link_rate, args.python, expose, state=tuple(args.state), rootless=args.rootless)
    lab = up(args.dir, wanted, keep=True)
    parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in lab.record["seconds"].items())
    print(f"{len(products)} hosts up in {time.monotonic() - started:.2f} s ({parts}): {lab.inventory}")
    return 0


def do_down(args: argparse.Namespace) -> int:
    print("down" if down(args.dir) else f"nothing in {args.dir}")
    return 0


def do_status(args: argparse.Namespace) -> int:
    lab = load(args.dir)
    for name, host in lab.hosts.items():
        print(f"{name} {host.product} {host.address} leaf{host.leaf} {'up' if lab.alive(name) else 'dead'}")
    return 0


def do_exec(args: argparse.Namespace) -> int:
    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    command = [*load(args.dir).enter(args.host), *(argv or ["bash"])]
    os.execvpe(command[0], command, environment())


def do_fault(args: argparse.Namespace) -> int:
    load(args.dir).fault(args.target, args.what, npu=args.npu, rate=args.rate, link_down=args.link_down)
    return 0


def do_heal(args: argparse.Namespace) -> int:
    load(args.dir).heal(args.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
