"""Whether two tools got the same results: the same fields with the same values, except for those
that differ with each run."""

from __future__ import annotations

from typing import Any

# Keys made anew, times, and names of what a run made
CHANGES = frozenset(
    {
        "account", "arn", "cmd", "content", "csr", "delta", "elapsed", "end", "filename",
        "fingerprint", "fingerprints", "not_after", "not_before", "notAfter", "notBefore",
        "public_key", "public_key_data", "public_key_fingerprints", "serial_number",
        "signature", "start", "location", "authority_key_identifier", "subject_key_identifier",
        "previous_release", "certificate", "name", "mtime", "inode", "public_data",
        "private_data", "user_id", "create_date", "response_metadata", "value",
        "stderr", "stderr_lines", "python_system_path",
    }
)  # fmt: skip
# Prose, and tracebacks, for which Ansible has a stand-in where there is none
WORDED = frozenset(
    {"msg", "warnings", "deprecations", "exception", "module_stderr", "module_stdout"}
)


def differences(theirs: dict[str, Any], ours: dict[str, Any]) -> list[tuple[str, str]]:
    """Module and field of every difference, once for all hosts."""
    found: dict[tuple[str, str], None] = {}
    for host, modules in theirs.items():
        for name, result in modules.items():
            for text in _differ(result, ours.get(host, {}).get(name), ""):
                found[(name, text)] = None
    return list(found)


def _differ(theirs: Any, ours: Any, where: str) -> list[str]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        texts = []
        for key in sorted({*theirs, *ours}, key=str):
            if key in WORDED or (key in CHANGES and key in theirs and key in ours):
                continue
            if key not in theirs or key not in ours:
                texts.append(f"{where}{key} is only in {'ours' if key in ours else 'theirs'}")
            else:
                texts += _differ(theirs[key], ours[key], f"{where}{key}.")
        return texts
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [
            text
            for number, pair in enumerate(zip(theirs, ours, strict=True))
            for text in _differ(*pair, f"{where}{number}.")
        ]
    return [] if theirs == ours else [f"{where} {theirs!r:.60} is {ours!r:.60} with ours"]
