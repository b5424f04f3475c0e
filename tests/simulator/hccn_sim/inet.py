"""Addresses as accepted by inet_pton."""

from __future__ import annotations

from .errors import Refused

TEXT_BYTES = 64  # what fits the tool's buffer for an address


def ipv4(text: str) -> int:
    """Return the address as a number. Refuse anything but four plain numbers without leading zeros."""
    if len(text) >= TEXT_BYTES:
        raise Refused("generic")
    parts = text.split(".")
    if len(parts) != 4 or not all(_octet(part) for part in parts):
        raise Refused("address")
    value = 0
    for part in parts:
        value = value * 256 + int(part)
    return value


def _octet(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256 and (part == "0" or not part.startswith("0"))


def netmask(text: str) -> int:
    """Return a netmask as a number. It must consist of leading ones; zero is accepted, too."""
    value = ipv4(text)
    inverse = value ^ 0xFFFFFFFF
    if inverse & (inverse + 1):
        raise Refused("address")
    return value


def same_network(one: str, other: str, mask: str) -> bool:
    bits = ipv4(mask)
    return ipv4(one) & bits == ipv4(other) & bits


def within(text: str, network: str, prefix: int) -> bool:
    shift = 32 - prefix
    return ipv4(text) >> shift == ipv4(network) >> shift


def ipv6(text: str) -> str:
    """Return the address in its shortest form."""
    import socket

    try:
        return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
    except (OSError, ValueError):
        raise Refused("address") from None


def same_network6(one: str, other: str, prefix: int) -> bool:
    import socket

    numbers = [int.from_bytes(socket.inet_pton(socket.AF_INET6, ipv6(text)), "big") >> (128 - prefix) for text in (one, other)]
    return numbers[0] == numbers[1]
