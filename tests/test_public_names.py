"""The names that a builder imports."""

import edgeagent


def test_every_public_name_is_there_and_listed():
    for name in edgeagent.__all__:
        assert getattr(edgeagent, name) is not None
    assert set(edgeagent._load.names) | edgeagent._ROOMS == set(edgeagent.__all__)
