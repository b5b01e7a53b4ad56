"""`python -m kgroup.cli.man [FOLDER]` writes the man pages. Read `pages.py` first."""
