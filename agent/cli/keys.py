"""Can this be a key, under which nothing is done twice?"""

from devices.problems import UsageProblem

KEY_MAX = 200
"""Characters of a key."""


def check_key(key: str | None) -> None:
    """Raise UsageProblem where a key is given that cannot be one."""
    if key is None:
        return
    if not key.strip():
        raise UsageProblem("--key is empty", "An unset variable? Give the key, or leave --key out")
    if len(key) > KEY_MAX or not key.isprintable():
        raise UsageProblem(f"--key: a key is one line of at most {KEY_MAX} characters", "Give another one")
