"""The options of a section of a .repo file, as dnf.conf(5) and yum.conf(5) name them."""

from __future__ import annotations

from playrunner.hostside.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class YumOptions(Module):
    """Every argument here is the option of the same name."""

    async_: bool | None = None  # fetch several packages at a time
    bandwidth: str | None = None  # bytes in a second at most that `throttle` is a part of
    baseurl: list[str] | None = None  # where it is
    cost: str | None = None  # how much worse than others it is
    countme: bool | None = None  # let its mirrors count this host
    deltarpm_metadata_percentage: str | None = None  # when differences are not worth it
    deltarpm_percentage: str | None = None  # when a difference is not worth it
    enabled: bool | None = None  # whether it is used
    enablegroups: bool | None = None  # whether its groups of packages are used
    exclude: list[str] | None = None  # packages never taken from it
    failovermethod: Literal["roundrobin", "priority"] | None = None  # the order of its addresses
    gpgcakey: str | None = None  # the key that signs its keys
    gpgcheck: bool | None = None  # check the signatures of packages
    gpgkey: list[str] | None = None  # where its keys are
    http_caching: Literal["all", "packages", "none"] | None = None  # what proxies may keep
    include: str | None = None  # another file to read
    includepkgs: list[str] | None = None  # the only packages taken from it
    ip_resolve: Literal["4", "6", "IPv4", "IPv6", "whatever"] | None = None  # kind of addresses
    keepalive: bool | None = None  # keep connections open
    keepcache: Literal["0", "1"] | None = None  # keep fetched packages
    metadata_expire: str | None = None  # how long its lists are good enough
    # When its lists may be older than that
    metadata_expire_filter: (
        Literal["never", "read-only:past", "read-only:present", "read-only:future"] | None
    ) = None
    metalink: str | None = None  # where a list of mirrors with checksums is
    mirrorlist: str | None = None  # where a list of mirrors is
    mirrorlist_expire: str | None = None  # how long that list is good enough
    module_hotfixes: bool | None = None  # its packages may replace those of modules
    password: str | None = None  # for the login
    priority: str | None = None  # less wins
    protect: bool | None = None  # keep its packages from being replaced by others'
    proxy: str | None = None  # the proxy to go through; _none_ for none
    proxy_password: str | None = None  # for the proxy's login
    proxy_username: str | None = None  # for the proxy's login
    repo_gpgcheck: bool | None = None  # check the signature of its lists
    retries: str | None = None  # how often fetching is tried
    s3_enabled: bool | None = None  # log in to Amazon S3
    skip_if_unavailable: bool | None = None  # go on without it
    ssl_check_cert_permissions: bool | None = None  # refuse certificates others can read
    sslcacert: str | None = None  # the authorities to trust
    sslclientcert: str | None = None  # a certificate to show
    sslclientkey: str | None = None  # its key
    sslverify: bool | None = None  # check the server's certificate
    throttle: str | None = None  # bytes in a second at most
    timeout: str | None = None  # seconds to wait for a connection
    ui_repoid_vars: str | None = None  # variables to show in the name
    username: str | None = None  # for the login

    def settings(self) -> dict[str, str]:
        """The options that are given, as text; the file calls the description `name`."""
        given: dict[str, Any] = {
            name.rstrip("_"): getattr(self, name) for name in YumOptions.__annotations__
        }
        given["name"] = getattr(self, "description", None)
        return {key: _text(key, value) for key, value in given.items() if value is not None}


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        # Addresses stand one below the other, names of packages beside each other.
        return ("\n" if key in ("baseurl", "gpgkey") else " ").join(str(item) for item in value)
    return str(value)
