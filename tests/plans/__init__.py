"""Tests of plans and jobs."""
