"""Groups as they are now: of a live cluster by its coordinators, of files by the log."""
