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
        by: What must catch it: a setup of the exhaustive suite by its name, whose sequences are played, or one test,
            as pytest calls it.
    """

    words: str
    module: str
    old: str
    new: str
    by: str

    @property
    def is_tested(self) -> bool:
        """Whether a test must catch it, and not a sequence."""
        return "::" in self.by
