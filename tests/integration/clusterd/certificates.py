"""A certificate authority that is valid for an hour, and the certificates that it signs, as files."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Pair(NamedTuple):
    """Paths of PEM files."""

    certificate: Path
    key: Path


class Authority:
    """``ca``: the path of the certificate of the authority."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), True).sign(self._key, hashes.SHA256())
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key()).serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + datetime.timedelta(hours=1)))

    def pair(self, name: str, address: str = "127.0.0.1") -> Pair:
        """Make a certificate for ``name`` and, unless it is empty, ``address``."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(name)] + ([x509.IPAddress(ipaddress.ip_address(address))] if address else [])
        signed = (self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
                  .add_extension(x509.SubjectAlternativeName(names), False).sign(self._key, hashes.SHA256()))
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pair.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return pair
