"""Certificates of a sandbox: an authority of its own, and what it signs for loopback."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from playrunner.sandbox.state import write_file

_DAYS = 3650
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "10.96.0.1")

_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Authority:
    """Signs certificates; its own is in `ca.crt`."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def issue(
        self, name: str, *, groups: tuple[str, ...] = (), names: tuple[str, ...] = ()
    ) -> None:
        """`NAME.crt` and `NAME.key`, good for serving on loopback (and under these names) and for
        presenting oneself as NAME."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in groups),
        ]
        places = [
            *map(x509.DNSName, (*_NAMES, *names)),
            *(x509.IPAddress(ipaddress.ip_address(one)) for one in _ADDRESSES),
        ]
        usages = x509.ExtendedKeyUsage(
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        )
        builder = _builder(x509.Name(subject), self.certificate.subject, key.public_key())
        builder = builder.add_extension(
            x509.SubjectAlternativeName(places), critical=False
        ).add_extension(usages, critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(signer, critical=False)
        write_file(self.folder / f"{name}.crt", _pem(builder.sign(self.key, hashes.SHA256())))
        write_file(self.folder / f"{name}.key", _key_pem(key))


def authority(folder: Path) -> Authority:
    """A new one, kept in this folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
    builder = _builder(name, name, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )
    builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    write_file(folder / "ca.crt", _pem(certificate))
    return Authority(folder, certificate, key)


def signing_key(path: Path) -> None:
    """The key with which an API server signs the tokens of service accounts; its public half is
    `*.pub`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_file(path.with_suffix(".pub"), public.decode())
    write_file(path, _key_pem(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public_key)
    )
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(
        now - datetime.timedelta(hours=1)
    )
    return builder.not_valid_after(now + datetime.timedelta(days=_DAYS))


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
