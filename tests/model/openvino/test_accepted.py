"""Everything that OpenVINO reads, however it is spelled, comes back as the same model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model.openvino import accepted_text, accepted_values, accepted_weights
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.rewriting import problems

GROUPS = {
    "syntax": accepted_text.SYNTAX,
    "unknown": accepted_text.UNKNOWN,
    "rt_info": accepted_text.RT_INFO,
    "attributes": accepted_values.ATTRIBUTES,
    "shapes": accepted_values.SHAPES,
    "graph": accepted_values.GRAPH,
    "constants": accepted_weights.CONSTANTS,
    "names": accepted_weights.NAMES,
    "state": accepted_weights.STATE,
}
# Runs of these crash OpenVINO, sooner or later.
NOT_RUN = ("constants: packed, size too large", "constants: unused bits set")
VARIANTS = {f"{group}: {name}": ir for group, irs in GROUPS.items() for name, ir in irs.items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_load_save_gives_the_same_model(name: str, oracle: Oracle, tmp_path: Path) -> None:
    source = VARIANTS[name].write(tmp_path)
    assert oracle.error(source) is None, "OpenVINO does not read this variant"
    assert problems(oracle, source, tmp_path, ports=False) == []
    if name not in NOT_RUN:
        assert not oracle.run(source, tmp_path / "rewritten.xml")
