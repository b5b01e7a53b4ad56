"""The file of named clusters: what is read, refused and written."""

import stat
from pathlib import Path

import pytest

from kgroup.errors import InputError, SourceError
from kgroup.net.connect.named_clusters import (
    MASK,
    NamedCluster,
    checked,
    find_cluster,
    masked,
    read_clusters,
    require_name,
    write_clusters,
)

PROD = NamedCluster(bootstrap_servers="a:1,b:2", command_config=Path("/etc/prod.properties"))
ODD = NamedCluster(bootstrap_servers='x"\\\n\x7fé:1', command_config=Path("/tmp/a 'b' \"c\""))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kgroup" / "clusters.toml"


def test_what_is_written_is_read_and_is_the_users_alone(file: Path) -> None:
    write_clusters(file, {"prod": PROD, "odd": ODD, "bare": NamedCluster(bootstrap_servers="c:3")})
    assert read_clusters(file) == {
        "bare": NamedCluster(bootstrap_servers="c:3"),
        "odd": ODD,
        "prod": PROD,
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [each.name for each in file.parent.iterdir()] == ["clusters.toml"]


def test_without_a_file_there_are_none(file: Path) -> None:
    assert read_clusters(file) == {}
    with pytest.raises(
        InputError, match=r"^--cluster prod: no such cluster; kgroup config add NAME -b HOST:PORT$"
    ):
        find_cluster(file, "prod")


def test_a_name_that_is_not_there_is_told_the_nearest_or_all(file: Path) -> None:
    write_clusters(file, {"prod": PROD, "test": PROD})
    assert find_cluster(file, "prod") == PROD
    with pytest.raises(InputError, match=r"^--cluster prd: no such cluster; did you mean prod\?$"):
        find_cluster(file, "prd")
    with pytest.raises(InputError, match=r"no such cluster; there are prod, test$"):
        find_cluster(file, "zzz")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[prod", "Expected ']'"),
        ("prod = 1", "prod: a table of texts is needed: bootstrap_servers, command_config"),
        (
            "[prod]\nbootstrap_servers = 1",
            "prod: a table of texts is needed: bootstrap_servers, command_config",
        ),
        ("[prod]\ncommand_config = '/a'", "prod: bootstrap_servers is missing"),
        (
            "[prod]\nbootstrap_server = 'a:1'",
            "prod: no such field: bootstrap_server; did you mean bootstrap_servers?",
        ),
        (
            "['a b']\nbootstrap_servers = 'a:1'",
            "cluster 'a b': a name has letters, digits, - and _, at most 64",
        ),
    ],
)
def test_content_that_makes_no_sense_is_refused(file: Path, content: str, why: str) -> None:
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_clusters(file)
    assert why in str(refused.value)


def test_a_folder_that_others_can_write_to_is_not_used(file: Path) -> None:
    file.parent.mkdir()
    file.parent.chmod(0o777)
    with pytest.raises(SourceError, match="not a folder that only you can write to"):
        write_clusters(file, {"prod": PROD})
    assert list(file.parent.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_clusters(file, {"prod": PROD})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(SourceError, match=r"clusters\.toml: No space left on device"):
        write_clusters(file, {})
    assert read_clusters(file) == {"prod": PROD}
    assert [each.name for each in file.parent.iterdir()] == ["clusters.toml"]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 65, "é"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InputError, match="a name has letters"):
        require_name(name)


def test_what_is_added_could_be_connected_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p").write_text("security.protocol=SSL\n", encoding="utf-8")
    made = checked(NamedCluster(bootstrap_servers="a:1", command_config=Path("p")))
    assert made.command_config == tmp_path / "p"
    with pytest.raises(InputError, match="HOST:PORT"):
        checked(NamedCluster(bootstrap_servers="a:b"))
    with pytest.raises(SourceError, match="No such file"):
        checked(NamedCluster(bootstrap_servers="a:1", command_config=Path("nowhere")))


def test_properties_of_the_command_line_win_over_the_file_and_its_file_over_the_clusters(
    tmp_path: Path,
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.write_text("client.id=own\nsecurity.protocol=SSL\n", encoding="utf-8")
    other.write_text("client.id=other\n", encoding="utf-8")
    cluster = NamedCluster(bootstrap_servers="a:1", command_config=own)
    assert cluster.connection(None, ("client.id=x",)).read_properties() == {
        "client.id": "x",
        "security.protocol": "SSL",
    }
    assert cluster.connection(other).read_properties() == {"client.id": "other"}


def test_secrets_are_hidden_and_nothing_else() -> None:
    secret = {
        "sasl.jaas.config": "x",
        "ssl.key.password": "x",
        "ssl.keystore.password": "x",
        "ssl.truststore.password": "x",
        "ssl.keystore.key": "x",
        "my.secret": "x",
    }
    plain = {"ssl.keystore.location": "x", "client.id": "x", "security.protocol": "x", "sasl.mechanism": "x"}
    assert masked(secret | plain) == dict(sorted((dict.fromkeys(secret, MASK) | plain).items()))
    assert masked({"ssl.key.password": ""}) == {"ssl.key.password": ""}
