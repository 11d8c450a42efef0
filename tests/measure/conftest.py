from tests.cli.conftest import cli  # noqa: F401
