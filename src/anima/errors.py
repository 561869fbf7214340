"""The one exception for what a person, a file or another program got wrong."""


class BadInput(ValueError):
    """Says what was wrong, where, and what to do; the command line prints it as one line and exits with 2."""
