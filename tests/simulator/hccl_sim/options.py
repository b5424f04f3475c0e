"""The command line of hccl_test's programs: options, their checks in order, and the texts of refusals."""

from __future__ import annotations

import getopt
import re
import sys
from dataclasses import dataclass

from .collectives import REDUCTIONS, WIDTHS

SHORT = "o:d:b:e:i:f:r:n:w:c:p:z:s:t:m:h"
LONG = {
    "op=": "o", "datatype=": "d", "minbytes=": "b", "maxbytes=": "e", "stepbytes=": "i", "stepfactor=": "f", "root=": "r", "iters=": "n",
    "warmup_iters=": "w", "check=": "c", "npus=": "p", "help": "h", "onlydevicetime=": "t", "symmetric_memory=": "m", "zero_copy=": "z", "nslb=": "s",
}
UNALIGNED = ("all_reduce", "broadcast", "reduce")
ALIGN_LINE = 16 * 1024 * 1024
ALIGN_SIZE = 512
HELP = """USAGE: ./test 
\t[-b,--minbytes <min size in bytes>] 
\t[-e,--maxbytes <max size in bytes>] 
\t[-i,--stepbytes <increment size>] 
\t[-f,--stepfactor <increment factor>] 
\t[-n,--iters <iteration count>] 
\t[-o,--op <sum/prod/min/max>] 
\t[-d,--datatype <int8/int16/int32/fp16/fp32/int64/uint64/uint8/uint16/uint32/fp64/bfp16/int128/hif8/fp8e4m3/fp8e5m2/fp8e8m0>] 
\t[-r,--root <root>] 
\t[-w,--warmup_iters <warmup iteration count>] 
\t[-c,--check <result verification> 0:disabled 1:quiet 2:verbose (default 1)] 
\t[-p,--npus <npus used for one node>] 
\t[-m,--symmetric_memory  0:disabled 1:enabled.] 
\t[-z,--zero_copy  0:disabled 1:enabled.] 
\t[-s,--nslb  0:disabled 1:enabled.] 
\t[-t, --onlydevicetime 0:disabled 1:enabled. When -t is 1,-n and -w must be less than or equal to 100, not support aicpu_ts.] 
\t[-h,--help]"""


class Refused(Exception):
    """The program exits with 255. ``lines`` are printed first, then ``This is an error in <where>.``."""

    def __init__(self, where: str, *lines: str) -> None:
        super().__init__(where)
        self.where = where
        self.lines = lines


class HelpWanted(Exception):
    pass


@dataclass
class Options:
    begin: int = 64 * 1024 * 1024
    end: int = 64 * 1024 * 1024
    step: int | None = None
    factor: float | None = None
    iterations: int = 20
    warmup: int = 10
    reduction: str = "sum"
    reduction_given: bool = False
    data_type: str = "fp32"
    root: int = 0
    check: int = 1
    npus: int | None = None
    device_time: int = 0
    zero_copy: int = 0
    symmetric: int = 0

    def following(self, size: int) -> int:
        """Return the size after ``size``."""
        return int(size * self.factor) if self.factor is not None and self.factor > 1 else size + (self.step or 0)


def parse_size(text: str) -> int:
    match = re.fullmatch(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|[0-9]*))([KMGkmg]?)", text)
    if not match:
        return -1
    digits = match.group(1).lstrip("+")
    octal = re.fullmatch(r"(-?)0([0-7]+)", digits)
    number = int(octal.group(1) + octal.group(2), 8) if octal else int(digits or "0", 0)
    return number * {"": 1, "K": 1024, "M": 1024 ** 2, "G": 1024 ** 3}[match.group(2).upper()]


def digits(text: str, messages: list[str]) -> int:
    if not text.isascii() or any(not character.isdigit() for character in text):
        messages.append("Error:In judge all digit, Check whether the value of [-i -n -r -w -c -p] is a positive integer.")
        return -1
    return int(text or "0", 8 if text.startswith("0") else 10)


def _float(text: str) -> float:
    match = re.match(r"\s*[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?", text)
    return float(match.group()) if match else 0.0


def parse(argv: list[str]) -> tuple[Options, list[str]]:
    """Return the options and the messages that were printed while parsing them. Raise HelpWanted, Refused."""
    options = Options()
    messages: list[str] = []
    try:
        found, rest = getopt.gnu_getopt(argv, SHORT, list(LONG))
    except getopt.GetoptError as error:
        sys.stderr.write(f"{sys.argv[0]}: {error.msg}\n")
        raise Refused("parse_cmd_line", "invalid option ", "Try [-h --help] for more information.") from None
    for name, value in found:
        letter = name[1:] if name[1] != "-" else LONG.get(name[2:] + "=", LONG.get(name[2:], ""))
        if letter == "h":
            raise HelpWanted
        _set(options, letter, value, messages)
    if rest:
        raise Refused("parse_cmd_line", *messages, "non-option ARGV-elements: " + "".join(word + " " for word in rest))
    return options, messages


def _set(options: Options, letter: str, value: str, messages: list[str]) -> None:
    if letter == "b":
        options.begin = parse_size(value)
    elif letter == "e":
        options.end = parse_size(value)
    elif letter == "f":
        options.factor = _float(value)
    elif letter == "o":
        options.reduction, options.reduction_given = value, True
    elif letter == "d":
        options.data_type = value
    elif letter in "zm":
        setattr(options, {"z": "zero_copy", "m": "symmetric"}[letter], int(value))
    elif letter != "s":
        name = {"i": "step", "n": "iterations", "w": "warmup", "r": "root", "c": "check", "p": "npus", "t": "device_time"}[letter]
        setattr(options, name, digits(value, messages))


def _aligned(size: int, ranks: int) -> int:
    unit = ranks * ALIGN_SIZE if size > ALIGN_LINE else ranks
    return max(size, ranks) // unit * unit


def _check_sizes(options: Options, operation: str, ranks: int) -> None:
    if options.begin <= 0 or options.end <= 0:
        raise Refused("check_cmd_line", "invalid size specified for [-b,--minbytes] or [-e,--maxbytes]")
    if options.step is not None and options.step < 0:
        raise Refused("check_cmd_line", "Error: [-i,--stepbytes] must be greater than or equal to 0.")
    if options.end < options.begin:
        raise Refused("check_cmd_line", "invalid option: maxbytes < minbytes, Check the [-b,--minbytes] and [-e,--maxbytes] options.")
    if options.step is None:
        options.step = 1 if options.begin == options.end else (options.end - options.begin) // 10
    if operation not in UNALIGNED:
        options.begin, options.end = _aligned(options.begin, ranks), _aligned(options.end, ranks)
        options.step = -(-options.step // ranks) * ranks
    if options.factor is not None and options.factor <= 1.0:
        raise Refused("check_cmd_line", "Error: [-f,--stepfactor] Must be greater than 1.0f, Start step mod.")


def check(options: Options, operation: str, ranks: int, devices: int) -> None:
    """Perform the checks of check_cmd_line in its order, and adjust the sizes. Raise Refused."""
    _check_sizes(options, operation, ranks)
    npus = devices if options.npus is None else options.npus
    hint = "is invalid, Use [-h,--help] to check the correct input parameter."
    npus_text = "Error: [-p,--npus <npus used for one node>] is invalid, npus must be greater than or equal to 1 and less than or equal to"
    for wrong, text in (
        (options.data_type not in WIDTHS, f"Error: [-d,--datatype] {hint}"),
        (options.reduction not in REDUCTIONS, f"Error: [-o,--op] {hint}"),
        (options.warmup < 0, "Error: [-w,--warmup_iters] is invalid, warmup_iters must be greater than or equal to 0."),
        (options.iterations < 0, "Error: [-n,--iters] is invalid, iters must be greater than or equal to 0."),
        (not 0 <= options.root < ranks, "Error: [-r,--root <root>] is invalid, root rank must be greater than or equal to 0 "
                                        f"and less than or equal to {ranks - 1}."),
        (not 0 <= options.check <= 2, "Error: [-c,--check] is invalid, check should be 0 or 1 or 2"),
        (devices == 0, "Error: The number of device is 0.Check whether the package is correct."),
        (not 1 <= npus <= devices, f"{npus_text} {devices}."),
        (options.device_time not in (0, 1), "Error: [-t,--onlydevicetime] is invalid, onlydevicetime should be 0 or 1"),
        (options.device_time == 1 and options.iterations > 100, "Error: [-n,--iters] is invalid, onlydevicetime is 1, but iters > 100, "
         f"iters must be less than or equal to 100, now iters is {options.iterations}"),
        (options.zero_copy and options.symmetric, "Error: Zero-copy and symmetric memory cannot be enabled simultaneously."),
    ):
        if wrong:
            raise Refused("check_cmd_line", text)


def unverified(operation: str, options: Options, ranks: int) -> str:
    """Return the warning that the result cannot be verified, or an empty text."""
    bits = {"int8": 7, "int16": 15, "fp16": 10, "bfp16": 7}
    if operation in ("all_reduce", "reduce", "reduce_scatter", "reduce_scatterv"):
        limits = {"fp16": 16, "fp32": 128, "int8": 7, "int32": 31, "int64": 63}
        over = options.reduction == "prod" and ranks >= limits.get(options.data_type, ranks + 1)
        if options.reduction == "sum":
            part = operation.startswith("reduce_scatter")
            widths = {**bits, "int32": 31, "fp32": 23} if part else bits
            over = (ranks * ranks if part else 2 * ranks) > 2 ** widths.get(options.data_type, 62) - 1
        return "Warning: The calculation result overflows, No verification is performed." if over else ""
    over = operation != "broadcast" and WIDTHS[options.data_type] == 1 and ranks >= 128
    return "Warning: The initdata overflows, No verification is performed." if over else ""
