"""Settings shared by all tests: which hypothesis profile is used where."""

from __future__ import annotations

import os

from hypothesis import settings

# A shared machine must give the same verdict on the same commit, so it draws the same examples each time.
settings.register_profile("ci", derandomize=True, max_examples=50, deadline=None, database=None)
settings.register_profile("dev", max_examples=50, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
