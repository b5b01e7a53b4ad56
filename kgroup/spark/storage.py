"""File systems by the URIs Spark users write, read by Python: here and in executors, without a JVM.

Spark hands Python no bytes of its Hadoop file systems but whole files as rows, for which the JVM's heap must
have room; and its own jars hold no `s3a`. So what Spark's settings say of a storage is translated:

- `s3://`, `s3a://`, `s3n://`, `gs://`, `abfs://`, `abfss://` and `file://` are pyarrow's, which is there.
- `hdfs://` and `viewfs://` are hdfs-native's, which speaks HDFS's protocol and needs no Hadoop.

Settings win in this order: the URI's own query, Hadoop's as Spark has them (`spark.hadoop.fs.s3a.endpoint`, a
`core-site.xml`), then what the storage's own library finds in the environment of each process.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from kgroup.errors import SourceError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_QUERY: Final = "query of "  # what stood behind the ? of a URI, among the settings
_KEYS: Final = "keys of "  # what stood before its host
_GCS_PATIENCE: Final = "retry_limit_seconds=30"  # the library's own is a quarter of an hour
# The library's own is some four minutes for a name node that is not there.
_HDFS_PATIENCE: Final = {
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.max.millis": "3000",
}
_OF_HDFS: Final = ("dfs.", "fs.defaultFS", "fs.viewfs.", "hadoop.security.", "hadoop.rpc.")
_OF_CLOUDS: Final = ("fs.s3a.", "fs.gs.", "fs.azure.")
_S3_HINT: Final = (
    "give keys as AWS's tools find them (AWS_PROFILE, AWS_ACCESS_KEY_ID, an instance's role) or as"
    " spark.hadoop.fs.s3a.access.key and secret.key; spark.hadoop.fs.s3a.endpoint for what is not AWS"
)
_AZURE_HINT: Final = (
    "it needs Azure's default credentials, a login or AZURE_CLIENT_ID and what belongs to it; or"
    " spark.hadoop.fs.azure.account.key.ACCOUNT.dfs.core.windows.net"
)
_HDFS_HINT: Final = (
    "give hdfs://NAMENODE:PORT, or set HADOOP_CONF_DIR to the folder with the cluster's core-site.xml and"
    " hdfs-site.xml"
)
_HINTS: Final = {
    "hdfs": _HDFS_HINT,
    "viewfs": _HDFS_HINT,
    "s3": _S3_HINT,
    "gs": "it needs Google's application default credentials: GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": _AZURE_HINT,
    "abfss": _AZURE_HINT,
}
_WITH_ROOT: Final = ("file", "hdfs", "viewfs")
_SCHEMES: Final = ("file", "hdfs", "viewfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss")


def is_uri(path: str) -> bool:
    """Whether a path that a user gave names a file system, as `hdfs://` and `s3://` do."""
    return _URI.match(path) is not None


@dataclass(frozen=True, slots=True)
class Storage:
    """Access to what URIs name: Hadoop's settings as Spark has them, but for Hadoop's own defaults."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # there are secrets among them

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "Storage":
        """The settings that concern storage."""
        return cls({key: value for key, value in settings.items() if key.startswith(_OF_HDFS + _OF_CLOUDS)})

    def taking(self, uri: str) -> "tuple[Storage, str]":
        """The URI as a plain path, to which names can be added and which can be shown.

        What it has behind a `?`, and keys before its host, become settings of all that is on that host.
        """
        parts = urlsplit(uri)
        user, _, host = parts.netloc.rpartition("@")
        if ":" not in user:
            user, host = "", parts.netloc
        plain = parts._replace(netloc=host, query="", fragment="")
        host = plain._replace(path="").geturl()
        given = {f"{_QUERY}{host}": parts.query, f"{_KEYS}{host}": user}
        settings = {**self.settings, **{key: value for key, value in given.items() if value}}
        return Storage(settings), plain.geturl().rstrip("/")

    def open(self, uri: str) -> "tuple[FileSystem, str]":
        """The file system, and the path as it takes it. Raises SourceError, naming the URI, if it is none."""
        with raised_as_source_error(uri):
            parts = urlsplit(uri)
            root = parts._replace(path="").geturl()
            system, prefix = _opened(root, tuple(sorted(self.settings.items())))
            path = prefix + unquote(parts.path)
            return system, path if parts.scheme in _WITH_ROOT else path.strip("/")


@contextmanager
def raised_as_source_error(uri: str) -> Iterator[None]:
    """Raise a file system's errors as SourceError of one line, which names the URI and what to set."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, NotImplementedError, ValueError, RuntimeError) as error:
        # hdfs-native quotes a stack of Java's, its line ends written out.
        why = next(iter(str(error).partition("\\n")[0].splitlines()), type(error).__name__)
        why = why.removeprefix("google::cloud::Status(")
        why = re.split(r"; Details| \(Request ID| error_info=\{", why)[0]
        is_said = isinstance(error, FileNotFoundError | ValueError) or "NO_SUCH_BUCKET" in why
        hint = None if is_said else _HINTS.get(_scheme(uri))
        advice = f"; {hint}" if hint else ""
        raise SourceError(f"{uri}: {why}{advice}") from error


def _scheme(uri: str) -> str:
    scheme = uri.partition("://")[0].lower()
    return "s3" if scheme in ("s3a", "s3n") else scheme


@cache
def _opened(uri: str, settings: tuple[tuple[str, str], ...]) -> "tuple[FileSystem, str]":
    """The file system of a URI without a path, and what its paths begin with; it keeps its connections."""
    parts = urlsplit(uri)
    of_scheme: dict[str, Callable[[SplitResult, Mapping[str, str]], tuple[FileSystem, str]]] = {
        "s3": _s3,
        "gs": _gs,
        "abfs": _azure,
        "abfss": _azure,
        "hdfs": _hdfs,
        "viewfs": _hdfs,
        "file": _local,
    }
    scheme = _scheme(uri)
    if scheme not in of_scheme:
        known = ", ".join(f"{each}://" for each in _SCHEMES)
        raise NotImplementedError(f"no storage that kgroup reads, which are {known}")
    return of_scheme[scheme](parts, dict(settings))


def _local(uri: SplitResult, settings: Mapping[str, str]) -> "tuple[FileSystem, str]":
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem(), ""


def _s3(uri: SplitResult, settings: Mapping[str, str]) -> "tuple[FileSystem, str]":
    from pyarrow.fs import S3FileSystem, resolve_s3_region

    bucket = uri.netloc
    options = _s3_options(settings, bucket)
    options |= _query_of(settings, uri, {"endpoint_override", "scheme", "region", "session_token"})
    if (keys := settings.get(f"{_KEYS}{uri.geturl()}")) is not None:
        access, _, secret = keys.partition(":")
        options |= {"access_key": unquote(access), "secret_key": unquote(secret)}
    if "region" not in options and "endpoint_override" not in options:
        with suppress(OSError):  # the library's own guess then, and what it says of the bucket
            options["region"] = resolve_s3_region(bucket)
    return S3FileSystem(**options), bucket


def _s3_options(settings: Mapping[str, str], bucket: str) -> dict[str, Any]:
    """Hadoop's `fs.s3a.*` in pyarrow's words; what is set for the bucket alone wins."""

    def setting(name: str) -> str | None:
        return settings.get(f"fs.s3a.bucket.{bucket}.{name}") or settings.get(f"fs.s3a.{name}") or None

    options: dict[str, Any] = {}
    endpoint = setting("endpoint")
    if endpoint is not None and not endpoint.endswith("amazonaws.com"):
        scheme, _, host = endpoint.rpartition("://")
        plain = (setting("connection.ssl.enabled") or "true").lower() == "false"
        options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme or ("http" if plain else "https")}
        options["force_virtual_addressing"] = (setting("path.style.access") or "true").lower() == "false"
    region = setting("endpoint.region")
    if region is not None:
        options["region"] = region
    for name, key in (("access_key", "access.key"), ("secret_key", "secret.key")):
        if (value := setting(key)) is not None:
            options[name] = value
    if "access_key" in options and (token := setting("session.token")) is not None:
        options["session_token"] = token
    provider = setting("aws.credentials.provider") or ""
    if "Anonymous" in provider:
        return {key: value for key, value in options.items() if "key" not in key} | {"anonymous": True}
    if "AssumedRole" in provider and (role := setting("assumed.role.arn")) is not None:
        options["role_arn"] = role
    return options


def _gs(uri: SplitResult, settings: Mapping[str, str]) -> "tuple[FileSystem, str]":
    from pyarrow.fs import FileSystem

    given = settings.get(f"{_QUERY}{uri.geturl()}", "")
    query = [given] if given else []
    if "retry_limit_seconds" not in given:
        query.append(_GCS_PATIENCE)
    root = settings.get("fs.gs.storage.root.url")
    if root is not None and "endpoint_override" not in given:
        scheme, _, host = root.partition("://")
        query.append(f"endpoint_override={host.rstrip('/')}&scheme={scheme}")
    return _pair(FileSystem.from_uri(uri._replace(query="&".join(query)).geturl()))


def _azure(uri: SplitResult, settings: Mapping[str, str]) -> "tuple[FileSystem, str]":
    """`abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/…`, as Hadoop spells it."""
    from pyarrow.fs import AzureFileSystem, FileSystem

    container, _, host = uri.netloc.rpartition("@")
    if not container:
        query = settings.get(f"{_QUERY}{uri.geturl()}", "")
        return _pair(FileSystem.from_uri(uri._replace(query=query).geturl()))
    account = host.partition(".")[0]

    def setting(name: str) -> str | None:
        return settings.get(f"fs.azure.{name}.{host}") or settings.get(f"fs.azure.{name}")

    endpoint = setting(
        "account.oauth2.client.endpoint"
    )  # https://login.microsoftonline.com/TENANT/oauth2/token
    options = {
        "account_key": setting("account.key"),
        "sas_token": setting("sas.fixed.token"),
        "client_id": setting("account.oauth2.client.id"),
        "client_secret": setting("account.oauth2.client.secret"),
        "tenant_id": urlsplit(endpoint).path.split("/")[1] if endpoint else None,
    }
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    system: FileSystem = AzureFileSystem(account, **given)
    return system, container


def _hdfs(uri: SplitResult, settings: Mapping[str, str]) -> "tuple[FileSystem, str]":
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    try:
        from hdfs_native.fsspec import HdfsFileSystem, ViewfsFileSystem
    except ImportError as error:
        raise NotImplementedError(f"{error}: pip install 'kgroup[hdfs]'") from error
    of_hdfs = {key: value for key, value in settings.items() if key.startswith(_OF_HDFS)}
    of_hdfs = {**_HDFS_PATIENCE, **of_hdfs}
    client = HdfsFileSystem if uri.scheme.lower() == "hdfs" else ViewfsFileSystem
    host, port = uri.hostname, uri.port
    if host is None:  # hdfs:///path: of the cluster that is the default one
        default = urlsplit(settings.get("fs.defaultFS", ""))
        host, port = default.hostname, default.port
    system = client(host, port, skip_instance_cache=True, **of_hdfs)
    handler: Any = FSSpecHandler  # its stub calls it abstract
    return PyFileSystem(handler(system)), ""


def _query_of(settings: Mapping[str, str], uri: SplitResult, known: set[str]) -> dict[str, Any]:
    given = dict(parse_qsl(settings.get(f"{_QUERY}{uri.geturl()}", "")))
    for name in sorted(given.keys() - known):
        raise ValueError(f"{name} behind the ? is none of {', '.join(sorted(known))}")
    return given


def _pair(opened: Any) -> "tuple[FileSystem, str]":
    return opened[0], opened[1]
