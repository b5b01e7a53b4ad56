"""`python -m kgroup.cli.man [FOLDER]`: write the man pages, see `pages.py`."""

from kgroup.cli.man.pages import main

if __name__ == "__main__":
    main()
