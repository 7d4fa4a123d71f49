"""Credentials: who logs in to a registry. What the inventory says, then the cloud's own short-lived
token, then docker's file."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from playrunner.images import logins
from playrunner.images.logins import Login
from playrunner.images.settings import ImageSettings

ECR = re.compile(r"(\d{12})\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_GOOGLE = re.compile(r"(?:[a-z0-9-]+\.)?(?:gcr\.io|pkg\.dev)|[a-z0-9-]+-docker\.pkg\.dev")
_TOKEN_USER = "oauth2accesstoken"  # the user name that goes with an access token of Google's


class Credentials:
    """The logins of one step, each found once."""

    def __init__(
        self, settings: ImageSettings, home: str, aws: Callable[[], Any], gcp: Callable[[], Any]
    ) -> None:
        self.settings = settings
        self._home = home  # the registry that image_user and image_password are for
        self._aws, self._gcp = aws, gcp
        self._found: dict[str, Login | None] = {}

    def of(self, registry: str) -> Login | None:
        """The login for a registry, or None for anonymous access."""
        if registry not in self._found:
            self._found[registry] = self._given(registry) or logins.read(
                self.settings.auth_file, registry
            )
        return self._found[registry]

    def hand_over(self, registries: set[str]) -> None:
        """Have docker's file answer for these registries, for builders to read; never on a command
        line."""
        for registry in sorted(registries):
            login = self._given(registry)
            if login:
                logins.merge(self.settings.auth_file, registry, login)

    def _given(self, registry: str) -> Login | None:
        """What is not in docker's file: the inventory's, or a token that a cloud gives for some
        hours."""
        if registry == self._home and self.settings.user:
            return Login(self.settings.user, self.settings.password)
        ecr = ECR.fullmatch(registry)
        if ecr:
            return self._ecr(ecr[1])
        # Of Google's registries only our own: bases may come from public ones, which need no login.
        return (
            self._google(registry)
            if registry == self._home and _GOOGLE.fullmatch(registry)
            else None
        )

    def _ecr(self, account: str) -> Login:
        """Valid for 12 hours; the same for all repositories of the account."""
        answer = self._aws().read("ecr", "get_authorization_token", registryIds=[account])
        user, _, secret = (
            base64.b64decode(answer["authorizationData"][0]["authorizationToken"])
            .decode()
            .partition(":")
        )
        return Login(user, secret)

    def _google(self, registry: str) -> Login | None:
        """Valid for an hour; another kind of login in docker's file is preferred."""
        known = logins.read(self.settings.auth_file, registry)
        if known and known.user != _TOKEN_USER:
            return None
        token, _ = self._gcp().account_session.token()
        return Login(_TOKEN_USER, token)
