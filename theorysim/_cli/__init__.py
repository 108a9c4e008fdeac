"""The command line: `theorysim list | new | run | verify | report | hunt | figure | show`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. A mistake of the user is told in one line, with exit code 2 and no traceback."""
    import typer

    from .._errors import InvalidArgument, Refused
    from ._app import app

    try:
        sys.exit(app(standalone_mode=False) or 0)
    except (InvalidArgument, Refused) as error:
        _complain(str(error))
    except (typer.Abort, KeyboardInterrupt):
        print("theorysim: stopped; what is stored is kept, the same command goes on", file=sys.stderr)
        sys.exit(130)
    except typer.TyperException as error:  # an unknown option, a missing argument
        _complain(getattr(error, "format_message", error.__str__)() or "give one of its commands")


def _complain(text: str) -> None:
    print("theorysim: " + " ".join(text.split()), file=sys.stderr)
    sys.exit(2)
