"""Values from the environment: `${NAME}` in an address or a template stands for a variable that is never shown.

What is stored, shown and hashed is the text with `${NAME}` in it. What goes over the wire is filled in; and because a
service may echo what it was sent, every message is washed of the values before a person sees it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import quote

from steelyard.config import Settings
from steelyard.errors import MissingPart

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

SHORTEST = 4
"""Values below this length are no secrets, and hiding them would garble every message."""


class Secrets:
    """The variables that were filled in so far.

    >>> secrets = Secrets(Settings.load(secrets={"EXAMPLE_TOKEN": "s3cret"}))
    >>> secrets.fill("Bearer ${EXAMPLE_TOKEN}")
    'Bearer s3cret'
    >>> secrets.hide("no access for s3cret")
    'no access for ${EXAMPLE_TOKEN}'
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings.load()
        self._names: dict[str, str] = {}

    def fill(self, text: str) -> str:
        """The text with every `${NAME}` replaced; a variable that is not set is a MissingPart."""
        return VARIABLE.sub(lambda match: self.value(match.group(1)), text)

    def value(self, name: str) -> str:
        """The value of a variable, from now on hidden in messages."""
        value = self.settings.secret(name)
        if not value:
            raise MissingPart(f"the environment variable {name} is not set", hint=f"export {name}=...")
        self.remember(value, f"${{{name}}}")
        return value

    def remember(self, value: str, shown: str) -> None:
        """Hide a value, as it is and as it looks in addresses and in basic authentication."""
        forms = (value, quote(value, safe=""), b64encode(value.encode()).decode())
        self._names.update({form: shown for form in forms if len(form) >= SHORTEST})

    def hide(self, text: str) -> str:
        """The text without any of the values."""
        for value in sorted(self._names, key=len, reverse=True):
            text = text.replace(value, self._names[value])
        return text


def authorization(variable: str, secrets: Secrets) -> str:
    """The header for a variable that holds `user:password`, or a scheme and its token: `ApiKey ...`, `Bearer ...`."""
    value = secrets.value(variable)
    if " " in value.strip():
        secrets.remember(value.strip().partition(" ")[2], f"${{{variable}}}")
        return value.strip()
    user, colon, password = value.partition(":")
    if not colon:
        raise MissingPart(
            f"the environment variable {variable} holds neither user:password nor a scheme with a token",
            hint=f"such as {variable}='admin:...' or {variable}='ApiKey ...'",
        )
    secrets.remember(password, f"${{{variable}}}")
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()
