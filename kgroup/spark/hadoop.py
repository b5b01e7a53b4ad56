"""Hadoop's settings: Spark's, for the storage; and whether there are any, for YARN."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from kgroup.errors import KgroupError
from kgroup.spark.shipping import is_connected
from kgroup.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX: Final = "spark.hadoop."
_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_SITE: Final = "yarn-site.xml"


def storage_of(session: "SparkSession") -> Storage:
    """A session's way to storage: its `spark.hadoop.*`, and the files of HADOOP_CONF_DIR.

    Spark also puts AWS's keys there that are in its environment. Of a Spark Connect server only what is among
    the settings of the session. Raises KgroupError if Spark does not answer.
    """
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error("Spark does not say how it reaches storage"):
        if is_connected(session):
            settings = session.conf.getAll
            return Storage.of(
                {
                    key.removeprefix(_PREFIX): value
                    for key, value in settings.items()
                    if key.startswith(_PREFIX)
                }
            )
        jvm: Any = session._jvm
        writer = jvm.java.io.StringWriter()
        session._jsc.hadoopConfiguration().writeXml(writer)
    return Storage.of(_settings_in(writer.toString()))


def _settings_in(document: str) -> dict[str, str]:
    """The settings that were set by a file: Hadoop gives the file of each."""
    settings = {}
    for each in ElementTree.fromstring(document).iter("property"):
        sources = [source.text or "" for source in each.iter("source")]
        name, value = each.findtext("name"), each.findtext("value")
        if name and value and not any(source.endswith("-default.xml") for source in sources):
            settings[name] = value
    return settings


def check_yarn(environment: Mapping[str, str] = os.environ) -> str:
    """The setting that locates YARN, like `HADOOP_CONF_DIR=/etc/hadoop`.

    Raises KgroupError, with what to set, if nothing does: Spark would print a stack of Java's.
    """
    given = {name: environment[name] for name in _FOLDERS if environment.get(name)}
    if not given:
        raise KgroupError(
            f"--master yarn: set HADOOP_CONF_DIR to the folder with the cluster's core-site.xml and {_SITE}"
        )
    named = " and ".join(f"{name}={folder}" for name, folder in given.items())
    if not any(Path(folder, _SITE).is_file() for folder in given.values()):
        raise KgroupError(f"--master yarn: there is no {_SITE} in {named}; it says where YARN is")
    return named
