"""`python -m kgroup` and the console script: run the command line and exit with its status."""

import gc
import sys


def main() -> None:
    """Run kgroup with the process's arguments and exit."""
    # Modules, and rows with what they are made of, live to the end: looking for cycles among them costs up
    # to a seventh of it all.
    gc.set_threshold(150_000, 10, 10)
    try:
        # Before Typer, which imports two of what is deferred, and whose dataclasses are some of those.
        from kgroup.cli.shell.deferred import defer
        from kgroup.cli.shell.lazy_methods import compile_lazily

        defer()
        compile_lazily()
        from kgroup.cli.shell.app import main as run
        from kgroup.cli.shell.std_streams import open_missing_streams

        open_missing_streams()
        run()
    except KeyboardInterrupt:  # while modules were still loaded; later `app` sees to it
        sys.exit(130)
    finally:
        gc.freeze()  # the memory goes back as a whole: taking modules apart at exit costs up to a tenth of it


if __name__ == "__main__":
    main()
