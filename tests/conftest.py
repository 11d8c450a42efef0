"""Options of the whole suite."""


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="the large sets of tests that have a small one, too")
