"""``python -m hccn_sim init|set|get|stop ROOT ...``: make nodes and change their state."""

from __future__ import annotations

import argparse
import sys

from . import layout
from .node import DEFAULTS, PRODUCTS, Node
from .schedule import schedule


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="hccn-sim", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    init = commands.add_parser("init", help="make a node; an existing one is not changed")
    init.add_argument("root")
    init.add_argument("--product", default="A2", choices=list(PRODUCTS))
    init.add_argument("--devices", type=int, help="number of devices, by default that of a server of the product")
    init.add_argument("--super-pod-id", type=int, default=DEFAULTS["super_pod_id"])
    init.add_argument("--super-pod-size", type=int, default=DEFAULTS["super_pod_size"])
    init.add_argument("--server-index", type=int, help="index of an A3 server in its super pod; by default it is in no super pod")
    init.add_argument("--fabric", default="fixed", choices=["fixed", "loopback", "interfaces"])
    init.add_argument("--loopback-shift", type=int, default=0, help="added to the second number of addresses in the fabric loopback")
    for name in (name for name in DEFAULTS if name.endswith("_seconds")):
        init.add_argument("--" + name.replace("_", "-"), type=float, default=DEFAULTS[name])
    init.add_argument("--measure-bytes", type=int, default=DEFAULTS["measure_bytes"])
    init.add_argument("--rate-scale", type=float, default=DEFAULTS["rate_scale"])
    init.add_argument("--switch-address", dest="switch_addresses", action="append", default=[], help="an address that answers ping and net_health")
    init.add_argument("--uid", type=int, default=0, help="the user as whom the tool considers itself to run")
    init.add_argument("--address-template", action="append", default=[], help="for example 10.78.1.{device}; two of them: one for each die of an NPU")
    init.add_argument("--netmask", default="255.255.255.0")
    init.add_argument("--state", action="append", default=[], metavar="KEY=VALUE")
    init.add_argument("--conf-from-state", action="store_true", help="write hccn.conf according to the state of the devices")
    init.add_argument("--python", default=sys.executable)
    init.add_argument("--reset", action="store_true", help="replace an existing node")
    change = commands.add_parser("set", help="change the state of devices")
    change.add_argument("root")
    change.add_argument("state", nargs="+", metavar="KEY=VALUE")
    change.add_argument("--after-commands", type=int, metavar="N", help="after N more calls of the node's tools instead of at once")
    change.add_argument("--matching", default="", metavar="WORDS", help='with --after-commands: count only calls with these words, for example "-i 1 -mtu -s"')
    show = commands.add_parser("get", help="print the state of a device")
    show.add_argument("root")
    show.add_argument("device")
    stop = commands.add_parser("stop", help="end the processes of the devices")
    stop.add_argument("root")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        if args.command == "init":
            config = {name: getattr(args, name) for name in DEFAULTS}
            how = {name: getattr(args, name) for name in ("address_template", "netmask", "state", "conf_from_state", "python", "reset")}
            layout.init(args.root, config, **how)
        elif args.command == "set":
            if args.matching and args.after_commands is None:
                raise ValueError("--matching needs --after-commands: it selects the calls to count")
            if args.after_commands is None:
                layout.set_state(args.root, args.state)
            else:
                schedule(Node(args.root), args.state, args.after_commands, args.matching)
        elif args.command == "stop":
            layout.stop(args.root)
        else:
            for key, value in sorted(Node(args.root).state.keys(args.device).items()):
                print(f"{key}={value}")
    except ValueError as error:
        print(f"hccn-sim: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
