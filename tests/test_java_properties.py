from hypothesis import given
from hypothesis import strategies as st

from kgroup.java_properties import assignments, decoded, parse_properties

# What java.util.Properties.load reads from these lines, by its documentation.
JAVA_FILE = """\
# a comment
! another
  security.protocol = SASL_SSL
sasl.mechanism: PLAIN
client.id kgroup
empty=
bare
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="alice" \\
    password="a=b\\\\"c";
path=C:\\\\keys
with\\ space\\=and\\:signs=caf\\u00e9
last=no line end"""


def test_a_file_is_read_as_java_reads_it():
    assert parse_properties(JAVA_FILE) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "client.id": "kgroup",
        "empty": "",
        "bare": "",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="alice" password="a=b\\"c";',
        "path": "C:\\keys",
        "with space=and:signs": "café",
        "last": "no line end",
    }


@given(st.text())
def test_any_text_is_some_properties(text):
    assert isinstance(parse_properties(text), dict)


def test_a_line_is_known_by_where_it_begins():
    read = [(each.number, each.name, each.separator) for each in assignments(JAVA_FILE)]
    assert read[:3] == [(3, "security.protocol", "="), (4, "sasl.mechanism", ":"), (5, "client.id", "")]
    assert read[5:7] == [(8, "sasl.jaas.config", "="), (11, "path", "=")]


def test_a_file_that_is_not_utf_8_is_in_the_encoding_that_java_was_made_for():
    assert decoded("a=é".encode()) == decoded("a=é".encode("iso-8859-1")) == "a=é"
