"""The PySpark that streams need. Importing this module does not import it."""

from kgroup.errors import KgroupError


def check_streams() -> None:
    """Raises KgroupError where PySpark is too old for sources that limit a micro-batch.

    Without a limit the first micro-batch would be all that is there, and `--once` would have no end.
    """
    try:
        import pyspark
    except ImportError:
        return  # whoever starts Spark says so
    try:
        import pyspark.sql.streaming.datasource
    except ImportError as error:
        raise KgroupError(
            f"streams need PySpark 4.2 or later, and this is {pyspark.__version__}:"
            " pip install 'pyspark>=4.2'"
        ) from error
