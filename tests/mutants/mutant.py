"""What is one deliberate fault?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule broken: `old` becomes `new` in the text of a module.

    Attributes:
        words: What is wrong now, as a sentence without its end.
        module: Dotted name.
        old: Stands there exactly once.
        new: Stands there instead.
        setup: The one of the exhaustive suite whose sequences must catch it.
    """

    words: str
    module: str
    old: str
    new: str
    setup: str
