"""One rank of one program: the order of steps, the texts and the exit codes of hccl_test.

Faults, by environment, on the ranks of SIM_HCCL_RANKS (``1,3``; default all):
SIM_HCCL_ACL_RETCODE, SIM_HCCL_ROOTINFO_RETCODE, SIM_HCCL_INIT_RETCODE, SIM_HCCL_OP_RETCODE: that step fails with this number;
SIM_HCCL_CORRUPT=1: the result is wrong; SIM_HCCL_HANG=row: stops before this row (from 0); SIM_HCCL_CRASH=1: a crash before the first row.
SIM_HCCL_DEVICES: NPUs of the host (8).
"""

from __future__ import annotations

import os
import signal
import sys
import time

from . import options as command_line
from .collectives import WIDTHS, Buffers, Collective
from .mesh import Mesh
from .pmi import Pmi

HEADER = f"{'data_size(Bytes):':<15} | {'aveg_time(us):':<12} | {'alg_bandwidth(GB/s):':<18} | check_result:"
SOURCE = "./common/src/hccl_test_common.cc"
TEST_SOURCES = {
    "all_reduce": "allreduce", "all_gather": "allgather", "all_gatherv": "allgatherv", "broadcast": "brocast", "reduce_scatter": "reducescatter",
    "reduce_scatterv": "reducescatterv",
}
LOGS = "hccl_op_base execute failed, Detailed logs are stored at the default path: /root/ascend/log/"


def say(text: str) -> None:
    """Print a line at once with one write: the program's output is line-buffered."""
    os.write(1, (text + "\n").encode())


def fault(name: str, rank: int) -> str:
    """Return the value of SIM_HCCL_<name> if it applies to this rank, else an empty text."""
    ranks = os.environ.get("SIM_HCCL_RANKS", "")
    concerned = not ranks or str(rank) in ranks.split(",")
    return os.environ.get(f"SIM_HCCL_{name}", "") if concerned else ""


def main(argv: list[str]) -> int:
    pmi = Pmi()
    try:
        return _run(os.path.basename(argv[0])[:-len("_test")], argv[1:], pmi)
    except command_line.HelpWanted:
        say(command_line.HELP)
        return 0
    except command_line.Refused as refusal:
        for line in refusal.lines:
            say(line)
        say(f"This is an error in {refusal.where}.")
        return 255
    finally:
        pmi.finalize()


def _run(operation: str, arguments: list[str], pmi: Pmi) -> int:
    options, messages = command_line.parse(arguments)
    for line in messages:
        say(line)
    command_line.check(options, operation, pmi.size, int(os.environ.get("SIM_HCCL_DEVICES", "8")))
    code = fault("ACL_RETCODE", pmi.rank)
    if code:
        say(f"acl interface return err {SOURCE}:864, retcode: {code}.")
        say("This is an error in device_init.")
        return int(code) & 0xFF
    complaint = _environment()
    if complaint:
        say(complaint)
        say("This is an error in get_env.")
        return 0
    if _communicator(options, pmi):
        mesh = Mesh(pmi)
        try:
            _table(operation, options, mesh)
        except ConnectionError:
            # A peer has failed: real ranks wait for it until they are killed.
            _hang()
        pmi.barrier()
        mesh.close()
    return 0


def _environment() -> str:
    """Return the complaint of get_env, or an empty text."""
    if os.environ.get("HCCL_TEST_PROFILING", "0") not in ("0", "1"):
        return "Check whether HCCL_TEST_PROFILING is 0 or 1."
    size = os.environ.get("HCCL_BUFFSIZE", "200")
    if not size.isdigit():
        return "Check whether HCCL_BUFFSIZE is all digit."
    return "" if int(size) else "Check whether HCCL_BUFFSIZE is 0 or too big."


def _communicator(options: command_line.Options, pmi: Pmi) -> bool:
    if pmi.rank == options.root:
        say(f"the minbytes is {options.begin}, maxbytes is {options.end}, iters is {options.iterations}, warmup_iters is {options.warmup}")
    if os.environ.get("SIM_HCCL_ROOTINFO_RETCODE"):
        root = f"Process {options.root} HcclGetRootInfo failed, notify other process to exit"
        say(root if pmi.rank == options.root else f"Process {pmi.rank} received invalid data from root process {options.root}")
        return False
    code = fault("INIT_RETCODE", pmi.rank)
    if code:
        say(f"hccl interface return err {SOURCE}:901, retcode: {code} ")
    return not code


def _hang() -> None:
    while True:
        time.sleep(3600)


def _table(operation: str, options: command_line.Options, mesh: Mesh) -> None:
    collective = Collective(mesh, operation, options.data_type, options.reduction, options.root)
    warning = command_line.unverified(operation, options, mesh.size)
    root = mesh.rank == options.root
    size, row = options.begin, 0
    while size <= options.end:
        if row == 0 and fault("CRASH", mesh.rank):
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault("HANG", mesh.rank) == str(row):
            _hang()
        if root and row == 0:
            _warn(operation, options, warning)
        if fault("OP_RETCODE", mesh.rank):
            name = TEST_SOURCES.get(operation, operation)
            say(f"hccl interface return err ./opbase_test/hccl_{name}_rootinfo_test.cc:149, retcode: {fault('OP_RETCODE', mesh.rank)} ")
            say(LOGS)
            return
        _one_size(collective, options, size, bool(warning), row == 0)
        size, row = options.following(size), row + 1


def _warn(operation: str, options: command_line.Options, warning: str) -> None:
    if options.reduction_given and not operation.startswith(("all_reduce", "reduce")):
        say("Warning: The -o,--op <sum/prod/min/max> option does not take effect. Check the cmd parameter.")
    if warning and options.check:
        say(warning)


def moved_count(operation: str, data_type: str, size: int, ranks: int) -> int:
    """Return the number of elements that are moved for a size: whole elements, and equal parts of all ranks."""
    count = -(-size // WIDTHS[data_type])
    if operation in command_line.UNALIGNED:
        return count
    unit = ranks * 128 if operation.startswith("alltoall") and count >= ranks * 128 else ranks
    return -(-count // unit) * unit


def _one_size(collective: Collective, options: command_line.Options, size: int, unverified: bool, first: bool) -> None:
    mesh = collective.mesh
    count = moved_count(collective.operation, options.data_type, size, mesh.size)
    buffers = collective.buffers(count)
    for _ in range(options.warmup):
        collective.run(buffers)
    mesh.barrier()
    start = time.perf_counter()
    for _ in range(options.iterations):
        collective.run(buffers)
    mesh.barrier()
    elapsed = (time.perf_counter() - start) * 1e6
    checked = bool(options.check) and not unverified
    if checked and (options.iterations or options.warmup):
        collective.run(buffers)
    if options.iterations:
        average = max(elapsed / options.iterations, 0.01)
        columns = f"{size:<17} | {average:<14.2f} | {count * WIDTHS[options.data_type] / average / 1000:<20.5f}"
    else:
        columns = f"{size:<17} | {'-nan':<14} | {'-nan':<20}"
    wrong = checked and not _right(collective, buffers, options.check == 2)
    if wrong:
        say(f"local rank_id {mesh.rank}, check result failed, {columns} | failed")
    if mesh.rank == options.root:
        if first:
            say(HEADER)
        say(f"{columns} | {'NULL' if not checked else 'failed' if wrong else 'success'}")


def _right(collective: Collective, buffers: Buffers, verbose: bool) -> bool:
    """Compare the result, after the fault was applied, and print a difference as hccl_test does."""
    if buffers.expected is None:
        return True
    received, rank = buffers.received, collective.mesh.rank
    if fault("CORRUPT", rank) and len(received):
        index = min(3, len(received) - 1)
        received[index] = 0xF if collective.operation == "alltoall" else 0 if buffers.expected[index] else 1
    wrong = [index for index, (got, want) in enumerate(zip(received, buffers.expected)) if got != want]
    wrong += list(range(len(received), len(buffers.expected)))
    if not wrong:
        return True
    if collective.operation == "alltoall":
        part = len(buffers.expected) // collective.mesh.size
        want, got = buffers.expected[wrong[0]], received[wrong[0]]
        say(f"The data sent from rank[{wrong[0] // part}] to rank[{rank}] at the [{wrong[0] % part}] byte position is wrong, "
            f"expected[{want:x}], actual[{got:x}]")
    elif not collective.operation.startswith("alltoall"):
        for index in wrong if verbose else []:
            got = received[index] if index < len(received) else 0
            say(f"check buf[{index}] error, exp:{buffers.expected[index]:f}, act:{got:f}")
        say(f"total err is {len(wrong)}")
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv))
