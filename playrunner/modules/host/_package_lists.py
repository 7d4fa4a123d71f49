"""What each package manager says is installed: rows, or None where the host does not have it."""

from __future__ import annotations

from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

    Rows = Optional[list[dict[str, Any]]]

_PLAIN = {"LC_ALL": "C", "LANG": "C"}
SAME = {"dnf": "rpm", "dnf5": "rpm", "yum": "rpm", "zypper": "rpm"}


def _rpm(ctx: HostContext) -> Rows:
    form = r"%{NAME}\t%{VERSION}\t%{RELEASE}\t%{EPOCH}\t%{ARCH}\n"
    lines = _lines(ctx, "rpm", ["-qa", "--qf", form])
    if lines is None:
        return None
    rows = []
    for line in lines:
        name, version, release, epoch, arch = line.split("\t")
        rows.append(
            {
                "name": name,
                "version": version,
                "release": release,
                "epoch": None if epoch == "(none)" else epoch,
                "arch": None if arch == "(none)" else arch,
            }
        )
    return rows


def _apt(ctx: HostContext) -> Rows:
    if not program("apt-get"):
        return None
    form = r"${Package}\t${Version}\t${Architecture}\t${Section}\t${db:Status-Status}\n"  # of dpkg
    lines = _lines(ctx, "dpkg-query", ["-W", "-f", form])
    if lines is None:
        return None
    native = "".join(_lines(ctx, "dpkg", ["--print-architecture"]) or [])
    rows = []
    for line in lines:
        name, version, arch, section, status = line.split("\t")
        if status == "installed":
            foreign = arch not in (native, "all")
            rows.append(
                {
                    "name": f"{name}:{arch}" if foreign else name,
                    "version": version,
                    "arch": arch,
                    "category": section,
                    "origin": "",
                }
            )
    origins = _origins(ctx, [str(row["name"]) for row in rows])
    return [{**row, "origin": origins.get(str(row["name"]), "")} for row in rows]


def _origins(ctx: HostContext, names: list[str]) -> dict[str, str]:
    """Who made the release that each installed version comes from; apt-cache lists, for every
    version, the archives that have it."""
    archives: dict[str, str] = {}
    archive = ""
    for line in _lines(ctx, "apt-cache", ["policy"]) or []:
        words = line.split()
        if words[:1] and words[0].lstrip("-").isdigit():
            archive = " ".join(words[1:])
        elif words[:1] == ["release"]:
            parts = [part.partition("=") for part in line.strip()[len("release ") :].split(",")]
            archives[archive] = next((value for key, _, value in parts if key == "o"), "")
    origins: dict[str, str] = {}
    name, installed = "", False
    for line in _lines(ctx, "apt-cache", ["policy", *names]) or []:
        if line[:1] != " ":
            name, installed = line.rstrip(":"), False
        elif line.startswith(" *** "):
            installed = True
        elif line[:5] == "     " and line[5:6] != " ":
            installed = False
        elif installed and name not in origins:
            origins[name] = archives.get(" ".join(line.split()[1:]), "")
    return origins


def _apk(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "apk", ["info", "-v"])
    if lines is None:
        return None
    rows = []
    for line in lines:
        if not line.startswith("WARNING") and line.count("-") >= 2:
            name, version, release = line.rsplit("-", 2)
            rows.append({"name": name, "version": version, "release": release})
    return rows


def _pacman(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "pacman", ["-Q"])
    if lines is None:
        return None
    rows: list[dict[str, Any]] = []
    for line in lines:
        name, _, version = line.partition(" ")
        version, _, release = version.partition("-")
        rows.append({"name": name, "version": version, "release": release})
    return rows


def _portage(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "qlist", ["-Iv"])
    if lines is None:
        return None
    rows: list[dict[str, Any]] = []
    for line in lines:
        category, _, rest = line.partition("/")
        name, dash, version = rest.rpartition("-")
        if dash and version.startswith("r") and version[1:].isdigit():
            name, _, number = name.rpartition("-")
            version = f"{number}-{version}"
        rows.append({"name": name, "version": version, "category": category})
    return rows


def _pkg(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "pkg", ["query", r"%n\t%v\t%R\t%t\t%a"])
    if lines is None:
        return None
    keys = ("name", "version", "origin", "installed_on", "automatic")
    return [dict(zip(keys, line.split("\t"))) for line in lines]  # noqa: B905


def _pkg_info(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "pkg_info", ["-q"]) or _lines(ctx, "pkg_info", ["-a"])
    if lines is None:
        return None
    pairs = [line.split()[0].rpartition("-") for line in lines if line.split()]
    return [{"name": name, "version": version} for name, _, version in pairs]


def _pkg5(ctx: HostContext) -> Rows:
    lines = _lines(ctx, "pkg", ["list", "-H"]) if program("pkgrepo") else None
    if lines is None:
        return None
    words = [line.split() for line in lines]
    return [{"name": row[0], "version": row[-2]} for row in words if len(row) > 2]


def _lines(ctx: HostContext, name: str, words: list[str]) -> Optional[list[str]]:
    tool = program(name)
    if tool is None:
        return None
    ran = ctx.run([tool, *words], env=_PLAIN)
    if ran.rc:
        ctx.warn(f"Failed to retrieve packages with {name}: {(ran.err or ran.out).strip()}")
        return []
    return [line for line in ran.out.splitlines() if line.strip()]


LISTS: dict[str, Callable[[HostContext], Rows]] = {
    "apt": _apt,
    "rpm": _rpm,
    "apk": _apk,
    "pacman": _pacman,
    "portage": _portage,
    "pkg": _pkg,
    "pkgng": _pkg,
    "pkg5": _pkg5,
    "pkg_info": _pkg_info,
    "openbsd_pkg": _pkg_info,
}
