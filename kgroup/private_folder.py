"""Folders that nobody else can see into or interfere with, even below places others can write to."""

import os
import stat
from pathlib import Path


def is_private(folder: Path) -> bool:
    """Make the folder if need be; whether it is one of this user's own, which nobody else can write to.

    A symbolic link is none: who made it may turn it elsewhere. Others lose the right to look into it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not hasattr(os, "getuid"):
            return stat.S_ISDIR(status.st_mode)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        if stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            folder.chmod(stat.S_IRWXU)
    except OSError:
        return False
    return True
