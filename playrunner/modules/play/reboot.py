"""play.reboot: restart a host and wait until it is back."""

from __future__ import annotations

import time
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.hostside.module import Action, Failed
from playrunner.run.context import Context

SETTLED_SECONDS = 5.0  # between tries while the host is down


class Reboot(Action):
    """Restart a host and wait until it is back, known by another boot id."""

    reboot_timeout: float = 600  # seconds to come back in
    pre_reboot_delay: float = 0  # seconds before it goes down
    post_reboot_delay: float = 0  # seconds after it is back
    connect_timeout: float = 5  # seconds one try may take
    test_command: str = "whoami"  # must succeed before the host counts as back
    reboot_command: str | None = None  # instead of shutdown -r
    # What differs from one start to the next
    boot_time_command: str = "cat /proc/sys/kernel/random/boot_id"
    msg: str = "Reboot initiated by Playrunner"  # shown to users of the host
    search_paths: list[str] = ["/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin"]

    def guard(self, ctx: Context) -> dict[str, Any] | None:
        return {"changed": True, "rebooted": True, "elapsed": 0} if ctx.check else None

    def act(self, ctx: Context) -> dict[str, Any]:
        started = time.monotonic()
        before = self._boot(ctx)
        command = (
            self.reboot_command
            or f'PATH=$PATH:{":".join(self.search_paths)} shutdown -r now "{self.msg}"'
        )
        ctx.sleep(self.pre_reboot_delay)
        # Started in the background, so that this step is answered before the host goes down.
        answer, _ = ctx.on_host("host.shell", {"cmd": f"(sleep 1; {command}) >/dev/null 2>&1 &"})
        if answer.get("failed"):
            raise Failed(
                f"the reboot command failed: {answer.get('stderr') or answer.get('msg')}",
                rebooted=False,
            )
        ctx.sleep(2)
        while True:
            ctx.reset_connection()
            try:
                if self._boot(ctx) != before and not ctx.on_host(
                    "host.shell", {"cmd": self.test_command}
                )[0].get("failed"):
                    ctx.sleep(self.post_reboot_delay)
                    return {"rebooted": True, "elapsed": int(time.monotonic() - started)}
            except PlayrunnerError:
                pass  # still down
            if time.monotonic() - started > self.reboot_timeout:
                raise Failed(
                    f"not back within {self.reboot_timeout:g} seconds",
                    rebooted=True,
                    elapsed=int(time.monotonic() - started),
                )
            ctx.sleep(SETTLED_SECONDS)

    def _boot(self, ctx: Context) -> str:
        answer, _ = ctx.on_host("host.shell", {"cmd": self.boot_time_command})
        if answer.get("failed"):
            raise Failed(f"cannot tell one boot from the next: {answer.get('msg')}", rebooted=False)
        return str(answer.get("stdout"))
