import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.net.connect.properties import ConnectionOptions, client_config


def test_single_properties_stand_over_those_of_the_file(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("client.id=from-file\nsecurity.protocol=SSL\n")
    options = ConnectionOptions(
        bootstrap_servers="b:9092", command_config=path, properties=("client.id = given", "client.rack=a=b")
    )
    assert options.read_properties() == {
        "client.id": "given",
        "security.protocol": "SSL",
        "client.rack": "a=b",
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            "security.protcol=SSL",
            "security.protcol: kgroup uses no such property; did you mean security.protocol",
        ),
        ("bootstrap.servers=b:9092", "bootstrap.servers: kgroup uses no such property"),
        ("request.timeout.ms=-1", "request.timeout.ms=-1: from 0 to"),
    ],
)
def test_a_single_property_without_effect_is_refused(given, why):
    with pytest.raises(InputError, match=why):
        client_config(ConnectionOptions(bootstrap_servers="b:9092", properties=(given,)).read_properties())


def test_a_file_may_have_what_is_for_other_clients_but_nothing_misspelt(tmp_path):
    path = tmp_path / "client.properties"
    options = ConnectionOptions(bootstrap_servers="b:9092", command_config=path)
    path.write_text("ssl.protocol=TLSv1.3\nkey.deserializer=x\nssl.provider=p\nretries=3\n")
    assert len(options.read_properties()) == 4
    assert options.self_contained().properties == ()
    path.write_text("sasl.mechanisms=PLAIN\n")  # as librdkafka has it
    with pytest.raises(InputError, match=r"sasl\.mechanisms: no such property; did you mean sasl\.mechanism"):
        options.read_properties()


def test_a_file_that_is_not_utf_8_is_latin_1_as_java_has_it(tmp_path):
    path = tmp_path / "client.properties"
    path.write_bytes("client.id=café".encode("latin-1"))
    options = ConnectionOptions(bootstrap_servers="b:9092", command_config=path)
    assert options.read_properties() == {"client.id": "café"}


def test_a_missing_file_and_a_property_without_a_value_are_errors_of_one_line(tmp_path):
    missing = ConnectionOptions(bootstrap_servers="b", command_config=tmp_path / "none.properties")
    with pytest.raises(SourceError, match=r"none\.properties: No such file"):
        missing.read_properties()
    with pytest.raises(InputError, match=r"-X client\.id: give KEY=VALUE"):
        ConnectionOptions(bootstrap_servers="b", properties=("client.id",)).read_properties()


def test_without_properties_the_connection_is_plain():
    assert client_config({}) == {"security_protocol": "PLAINTEXT"}


def test_names_and_numbers_go_over_and_consumer_settings_do_not_matter():
    assert client_config({"client.id": "me", "request.timeout.ms": "700", "max.poll.records": "5"}) == {
        "security_protocol": "PLAINTEXT",
        "client_id": "me",
        "request_timeout_ms": 700,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_are_in_the_jaas_entry(mechanism):
    config = client_config(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": 'org.x.LoginModule required username="alice" password="s3;c\\"ret";',
        }
    )
    assert config == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": 's3;c"ret',
    }


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms=soon"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism=AWS_MSK_IAM"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config has no username"),
        ({"security.protocol": "SSL", "ssl.truststore.location": __file__}, "ssl.truststore.location"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/none.pem"}, "/none.pem: No such file"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "no"}, "ssl.truststore.certificates"),
        (
            {"security.protocol": "SSL", "ssl.keystore.certificate.chain": "no"},
            "ssl.keystore.certificate.chain",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(properties, named):
    with pytest.raises(KgroupError, match=named):
        client_config(properties)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("ssl.key.password Secret1", " ssl.key.password"),
        ("ssl.key.password:Secret1", " ssl.key.password"),
        ("ssl.keystore.key -----BEGIN KEY----- Secret1==", " ssl.keystore.key"),
        ("-----BEGIN KEY----- Secret1==", ""),
        ("ssl.key.passwordSecret1", ""),
        ("Secret1", ""),
        ("=Secret1", ""),
    ],
)
def test_of_what_is_no_assignment_only_a_known_name_is_shown(given, shown):
    with pytest.raises(InputError) as refusal:
        ConnectionOptions(bootstrap_servers="b", properties=(given,)).read_properties()
    assert str(refusal.value) == f"-X{shown}: give KEY=VALUE, like -X security.protocol=SSL"


def test_passwords_are_not_in_what_the_options_look_like():
    options = ConnectionOptions(bootstrap_servers="b", properties=("ssl.key.password=Secret1",))
    assert "Secret1" not in repr(options)


def test_a_users_name_is_written_as_scram_has_it():
    """RFC 5802, section 5.1: a comma and an equals sign would end the name."""
    for mechanism, written in (("PLAIN", "a=b,c"), ("SCRAM-SHA-512", "a=3Db=2Cc")):
        config = client_config(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": 'M required username="a=b,c" password="p";',
            }
        )
        assert config["sasl_plain_username"] == written


def test_delegation_tokens_are_refused_by_name():
    with pytest.raises(InputError, match="delegation tokens"):
        client_config(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": 'M required username="id" password="mac" tokenauth="true";',
            }
        )
