"""`python -m kgroup` and the console script: run the command line and exit with its status."""

from kgroup.cli.app import main

if __name__ == "__main__":
    main()
