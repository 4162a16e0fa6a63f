"""Tests of the fleet: many observers, verdicts, notices."""
