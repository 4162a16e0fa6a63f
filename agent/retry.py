"""How are harmless things tried again? The only place that knows tenacity.

Only opening a link and asking for an identity come here: nothing of a command has left, so trying again is always safe.
What happens to a command that was sent is decided by the policy alone. Every option is explicit, because tenacity's own
defaults never stop, hide the cause, and retry cancellation.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0


async def again_after(
    first: Exception,
    attempt: Callable[[], Awaitable[T]],
    *,
    on: type[Exception] | tuple[type[Exception], ...],
    attempts_max: int,
    sleep: Callable[[float], Awaitable[None]],
    give_up: Callable[[], bool],
) -> T:
    """Try `attempt` further times after a first failure, with growing waits.

    Args:
        first: the failure that led here; it counts as the first attempt.
        attempt: what to try.
        on: failures that may be followed by another attempt; all others go through.
        attempts_max: attempts in all, the failed first one included.
        sleep: waits the given seconds.
        give_up: asked before every further attempt; True ends the effort.

    Raises:
        The last failure.
    """
    import tenacity  # 33 ms; most commands never get here

    last = first

    async def unless_given_up() -> T:
        nonlocal last
        if give_up():
            raise last
        try:
            return await attempt()
        except on as failure:
            last = failure
            raise

    if attempts_max <= 1 or give_up():
        raise first
    await sleep(FIRST_WAIT_S)
    retrying = tenacity.AsyncRetrying(
        stop=lambda state: state.attempt_number >= attempts_max - 1 or give_up(),
        wait=tenacity.wait_exponential(multiplier=2 * FIRST_WAIT_S, max=LONGEST_WAIT_S, exp_base=2, min=0),
        retry=tenacity.retry_if_exception_type(on),
        sleep=sleep,
        after=tenacity.after_nothing,
        before=tenacity.before_nothing,
        before_sleep=None,
        reraise=True,
    )
    return await retrying(unless_given_up)
