"""Facts of the operating system, the login and the clock; no program is run for them."""

from __future__ import annotations

import os
import sys
import time

from playrunner.modules.host import _facts_distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

HOST_KEYS = ("dsa", "rsa", "ecdsa", "ed25519")
NAME_LOOKUP_SECONDS = 1.0  # a resolver that does not answer must not hold up the run
MACHINES = {"amd64": "x86_64"}


def gathered(chosen: set[str], ctx: HostContext) -> dict[str, Any]:
    makers = {
        "platform": platform,
        "user": user,
        "python": python,
        "env": lambda: {"env": dict(os.environ)},
        "date_time": date_time,
        "dns": dns,
        "distribution": _facts_distribution.distribution,
        "lsb": _facts_distribution.lsb,
        "pkg_mgr": _facts_distribution.pkg_mgr,
        "service_mgr": _facts_distribution.service_mgr,
        "cmdline": cmdline,
        "selinux": selinux,
        "apparmor": apparmor,
        "fips": fips,
        "ssh_pub_keys": host_keys,
        "chroot": chroot,
        "loadavg": loadavg,
    }
    facts: dict[str, Any] = {}
    for name, make in makers.items():
        if name in chosen:
            facts.update(make())
    return facts


def platform() -> dict[str, Any]:
    name = os.uname()
    full = _full_name(name.nodename)
    machine_id = next(
        filter(None, map(text_of, ("/var/lib/dbus/machine-id", "/etc/machine-id"))), None
    )
    return {
        "system": name.sysname,
        "kernel": name.release,
        "kernel_version": name.version,
        "machine": name.machine,
        "architecture": MACHINES.get(name.machine, name.machine),
        "nodename": name.nodename,
        "hostname": name.nodename.partition(".")[0],
        "fqdn": full,
        "domain": full.partition(".")[2],
        "userspace_bits": "64" if sys.maxsize > 2**32 else "32",
        **({"machine_id": machine_id} if machine_id else {}),
    }


def user() -> dict[str, Any]:
    import pwd

    try:
        account = pwd.getpwuid(os.geteuid())
        named = {
            "user_id": account.pw_name,
            "user_dir": account.pw_dir,
            "user_shell": account.pw_shell,
            "user_gecos": account.pw_gecos,
            "user_uid": account.pw_uid,
            "user_gid": account.pw_gid,
        }
    except KeyError:
        named = {
            "user_id": str(os.geteuid()),
            "user_dir": os.path.expanduser("~"),
            "user_shell": "",
            "user_gecos": "",
            "user_uid": os.geteuid(),
            "user_gid": os.getegid(),
        }
    return {
        **named,
        "real_user_id": os.getuid(),
        "effective_user_id": os.geteuid(),
        "real_group_id": os.getgid(),
        "effective_group_id": os.getegid(),
    }


def python() -> dict[str, Any]:
    info = sys.version_info
    version = {
        "major": info[0],
        "minor": info[1],
        "micro": info[2],
        "releaselevel": info[3],
        "serial": info[4],
    }
    return {
        "python_version": ".".join(map(str, info[:3])),
        "python": {
            "version": version,
            "version_info": list(info),
            "executable": sys.executable,
            "type": sys.implementation.name,
            "has_sslcontext": True,
        },
    }


def date_time() -> dict[str, Any]:
    now = time.time()
    local, utc, micro = time.localtime(now), time.gmtime(now), f"{int(now % 1 * 1000000):06d}"
    names = {
        "year": "%Y",
        "month": "%m",
        "weekday": "%A",
        "weekday_number": "%w",
        "weeknumber": "%W",
        "day": "%d",
        "hour": "%H",
        "minute": "%M",
        "second": "%S",
        "date": "%Y-%m-%d",
        "time": "%H:%M:%S",
        "iso8601_basic_short": "%Y%m%dT%H%M%S",
        "tz": "%Z",
        "tz_offset": "%z",
    }
    facts = {name: time.strftime(form, local) for name, form in names.items()}
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", utc)
    facts.update(
        epoch=str(int(now)),
        epoch_int=str(int(now)),
        tz_dst=time.tzname[1],
        iso8601=f"{moment}Z",
        iso8601_micro=f"{moment}.{micro}Z",
        iso8601_basic=facts["iso8601_basic_short"] + micro,
    )
    return {"date_time": facts}


def dns() -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in text_of("/etc/resolv.conf").splitlines():
        fields = line.split()
        if not fields or fields[0].startswith(("#", ";")):
            continue
        if fields[0] == "nameserver":
            facts.setdefault("nameservers", []).extend(fields[1:])
        elif fields[0] == "domain" and len(fields) > 1:
            facts["domain"] = fields[1]
        elif fields[0] in ("search", "sortlist"):
            facts[fields[0]] = fields[1:]
        elif fields[0] == "options":
            pairs = [word.partition(":") for word in fields[1:]]
            facts["options"] = {name: value if sign else True for name, sign, value in pairs}
    return {"dns": facts}


def cmdline() -> dict[str, Any]:
    once: dict[str, Any] = {}
    every: dict[str, Any] = {}
    for word in text_of("/proc/cmdline").split():
        name, sign, value = word.partition("=")
        once[name] = value if sign else True
        earlier = every.get(name)
        several = earlier if isinstance(earlier, list) else [earlier]
        every[name] = [*several, once[name]] if name in every else once[name]
    return {"cmdline": once, "proc_cmdline": every} if once else {}


def selinux() -> dict[str, Any]:
    if not os.path.exists("/sys/fs/selinux/enforce"):
        return {"selinux": {"status": "disabled"}, "selinux_python_present": True}
    lines = text_of("/etc/selinux/config").splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
    return {
        "selinux_python_present": True,
        "selinux": {
            "status": "enabled",
            "mode": "enforcing" if text_of("/sys/fs/selinux/enforce") == "1" else "permissive",
            "config_mode": settings.get("SELINUX", "unknown"),
            "type": settings.get("SELINUXTYPE", "unknown"),
            "policyvers": _number(text_of("/sys/fs/selinux/policyvers")),
        },
    }


def apparmor() -> dict[str, Any]:
    return {
        "apparmor": {
            "status": "enabled" if os.path.exists("/sys/kernel/security/apparmor") else "disabled"
        }
    }


def fips() -> dict[str, Any]:
    return {"fips": text_of("/proc/sys/crypto/fips_enabled") == "1"}


def host_keys() -> dict[str, Any]:
    facts = {}
    for kind in HOST_KEYS:
        words = text_of(f"/etc/ssh/ssh_host_{kind}_key.pub").split()
        if len(words) > 1:
            facts[f"ssh_host_key_{kind}_public"] = words[1]
            facts[f"ssh_host_key_{kind}_public_keytype"] = words[0]
    return facts


def chroot() -> dict[str, Any]:
    if os.environ.get("debian_chroot"):  # noqa: SIM112
        return {"is_chroot": True}
    try:
        mine, first = os.stat("/"), os.stat("/proc/1/root/.")
        return {"is_chroot": (mine.st_ino, mine.st_dev) != (first.st_ino, first.st_dev)}
    except OSError:
        return {"is_chroot": os.stat("/").st_ino not in (2, 96, 128, 256)}


def loadavg() -> dict[str, Any]:
    return {"loadavg": dict(zip(("1m", "5m", "15m"), os.getloadavg()))}  # noqa: B905


def text_of(path: str) -> str:
    """A small file's text without the newline at its end; empty when it cannot be read."""
    try:
        fd = os.open(
            path, os.O_RDONLY
        )  # a third of what open() costs, and there are hundreds of these
    except OSError:
        return ""
    try:
        data = b""
        while True:
            more = os.read(fd, 65536)
            if not more:
                return data.decode("utf-8", "replace").strip()
            data += more
    except OSError:
        return ""
    finally:
        os.close(fd)


def _full_name(name: str) -> str:
    """The host's whole name, as far as the resolver tells it in time."""
    # What socket and threading are made of; importing those would cost more than all other facts
    import _socket
    import _thread

    names = [name]
    answered = _thread.allocate_lock()
    answered.acquire()

    def ask() -> None:
        try:
            canonical, aliases, _ = _socket.gethostbyaddr(name.encode())  # type: ignore[arg-type]  # a str would load the tables of IDNA first
            names.append(
                next(
                    (candidate for candidate in (canonical, *aliases) if "." in candidate),
                    canonical,
                )
            )
        except OSError:
            pass
        finally:
            answered.release()

    _thread.start_new_thread(ask, ())
    answered.acquire(timeout=NAME_LOOKUP_SECONDS)
    return names[-1]


def _number(text: str) -> Any:
    return int(text) if text.isdigit() else "unknown"
