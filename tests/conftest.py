"""Options of the whole suite, and Ctrl-C as at a terminal."""

import signal

# A run in the background inherits an ignored SIGINT, and the tests of Ctrl-C send one to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="the large sets of tests that have a small one, too")
