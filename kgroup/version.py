"""The version of this package, apart from the public names: no module of kgroup imports those."""

__version__ = "0.1.0"
