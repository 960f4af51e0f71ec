"""The outputs of the first notebooks, 00 to 04, are those of now."""

import pytest
from notebook_outputs import notebooks, run_check

PATHS = [path for path in notebooks() if path.name < "05"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_prints_on_packaged_data_what_is_committed(path, kernels) -> None:
    ended = run_check(path, kernels)
    assert ended.returncode == 0, ended.stdout
