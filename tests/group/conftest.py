"""Options of the tests of kgroup.group."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-scripts", action="store_true", help="write the answers of tests/group/scripts"
    )
