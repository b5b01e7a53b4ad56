"""What URIs and Hadoop's settings say of a storage, in the words of the libraries that read it."""

from pathlib import Path

import pytest

from kgroup.errors import KgroupError, SourceError
from kgroup.spark.hadoop import _settings_in, check_yarn
from kgroup.spark.storage import Storage, _s3_options

S3 = {
    "fs.s3a.endpoint": "http://127.0.0.1:9000/",
    "fs.s3a.access.key": "a",
    "fs.s3a.secret.key": "b",
}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        (
            S3,
            {
                "endpoint_override": "127.0.0.1:9000",
                "scheme": "http",
                "force_virtual_addressing": False,
                "access_key": "a",
                "secret_key": "b",
            },
        ),
        (
            {
                "fs.s3a.endpoint": "minio:9000",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.path.style.access": "true",
            },
            {"endpoint_override": "minio:9000", "scheme": "http", "force_virtual_addressing": False},
        ),
        (
            {"fs.s3a.endpoint": "https://store", "fs.s3a.path.style.access": "false"},
            {"endpoint_override": "store", "scheme": "https", "force_virtual_addressing": True},
        ),
        ({"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, {}),
        ({"fs.s3a.endpoint.region": "eu-west-1"}, {"region": "eu-west-1"}),
        ({"fs.s3a.endpoint.region": "eu-west-1", "fs.s3a.bucket.logs.endpoint.region": "x"}, {"region": "x"}),
        (
            {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b", "fs.s3a.session.token": "c"},
            {"access_key": "a", "secret_key": "b", "session_token": "c"},
        ),
        (
            {
                "fs.s3a.access.key": "a",
                "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
            },
            {"anonymous": True},
        ),
        (
            {
                "fs.s3a.assumed.role.arn": "arn:aws:iam::1:role/r",
                "fs.s3a.aws.credentials.provider": "o.a.h.fs.s3a.auth.AssumedRoleCredentialProvider",
            },
            {"role_arn": "arn:aws:iam::1:role/r"},
        ),
    ],
)
def test_s3a(settings: dict[str, str], options: dict[str, object]) -> None:
    assert _s3_options(settings, "logs") == options


def test_a_uri_is_a_plain_path_and_keeps_its_query_and_keys_to_itself() -> None:
    storage, uri = Storage().taking("s3://me:my%2Fkey@logs/cluster-7/?endpoint_override=h:1&scheme=http")
    assert uri == "s3://logs/cluster-7"
    assert "my" not in repr(storage)
    system, path = storage.open(f"{uri}/__consumer_offsets-1")
    assert (system.type_name, path) == ("s3", "logs/cluster-7/__consumer_offsets-1")


def test_a_container_of_azure_is_no_password() -> None:
    _, uri = Storage().taking("abfss://logs@account.dfs.core.windows.net/cluster-7")
    assert uri == "abfss://logs@account.dfs.core.windows.net/cluster-7"
    key = {"fs.azure.account.key.account.dfs.core.windows.net": "a2V5"}
    system, path = Storage(key).open(uri)
    assert (system.type_name, path) == ("abfs", "logs/cluster-7")


def test_what_is_behind_a_uri_is_known_or_refused() -> None:
    storage, uri = Storage().taking("s3://logs/x?endpoint=h")
    with pytest.raises(
        SourceError, match=r"^s3://logs/x: endpoint behind the \? is none of endpoint_override"
    ):
        storage.open(uri)


def test_hdfs_without_its_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hdfs_native.fsspec", None)
    with pytest.raises(SourceError, match=r"^hdfs://name-node/x: .*pip install 'kgroup\[hdfs\]'"):
        Storage().open("hdfs://name-node/x")


def test_only_settings_of_storage_that_somebody_has_made_are_taken() -> None:
    document = """<configuration>
        <property><name>fs.s3a.endpoint</name><value>h</value><source>programmatically</source></property>
        <property><name>fs.s3a.path.style.access</name><value>false</value><source>core-default.xml</source></property>
        <property><name>spark.app.name</name><value>x</value><source>programmatically</source></property>
        <property><name>fs.defaultFS</name><value>hdfs://n</value><source>file:/etc/core-site.xml</source></property>
    </configuration>"""
    assert Storage.of(_settings_in(document)).settings == {"fs.s3a.endpoint": "h", "fs.defaultFS": "hdfs://n"}


def test_yarn_without_its_configuration_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(KgroupError, match=r"^--master yarn: set HADOOP_CONF_DIR to "):
        check_yarn({"HADOOP_CONF_DIR": ""})
    with pytest.raises(KgroupError, match=rf"no yarn-site.xml in HADOOP_CONF_DIR={tmp_path}; "):
        check_yarn({"HADOOP_CONF_DIR": str(tmp_path)})
    (tmp_path / "yarn-site.xml").touch()
    assert check_yarn({"YARN_CONF_DIR": str(tmp_path)}) == f"YARN_CONF_DIR={tmp_path}"
