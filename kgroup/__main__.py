"""`python -m kgroup` and the console script: run the command line and exit with its status."""

import sys


def main() -> None:
    """Run kgroup with the process's arguments and exit."""
    try:
        from kgroup.cli.shell.app import main as run
        from kgroup.cli.shell.std_streams import open_missing_streams

        open_missing_streams()
        run()
    except KeyboardInterrupt:  # while modules were still loaded; later `app` sees to it
        sys.exit(130)


if __name__ == "__main__":
    main()
