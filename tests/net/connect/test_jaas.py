"""`sasl.jaas.config`, with what Kafka's own JaasConfig makes of each entry."""

import pytest

from kgroup.errors import InputError
from kgroup.net.connect.jaas import login_options

USER = {"username": "alice"}


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("", {}),
        ('M required username="alice";', USER),
        ("M required username='alice';", USER),
        ("M required username=alice;", USER),
        ("M required\n  username = alice\n;", USER),
        ('M REQUISITE "username"="alice";', USER),
        ("org.apache.kafka.common.security.plain.PlainLoginModule required;", {}),
        (
            'M required username="alice" password="p;w=1" x=a.b-c_$;',
            {**USER, "password": "p;w=1", "x": "a.b-c_$"},
        ),
        ('M required username="bob" username="alice";', USER),
        (
            r"""M required a="s\"q" b='s\'q' c="tab\tx\\" d="\101\60" e="\q";""",
            {"a": 's"q', "b": "s'q", "c": "tab\tx\\", "d": "A0", "e": "q"},
        ),
        ("""M required a='say "x"' b="it's";""", {"a": 'say "x"', "b": "it's"}),
        ('M required username="alice" // password="no"\n password="yes";', {**USER, "password": "yes"}),
        ('M required // username="bob" password="no";\n username="alice";', USER),
        ('M required /* username="bob" */ username="alice" /* password="no" */;', USER),
        ('M required username="alice"/* no; */password="yes";', {**USER, "password": "yes"}),
        ('M required username="//alice" password="/*p*/";', {"username": "//alice", "password": "/*p*/"}),
        ('/* M none; */ M required username="alice"; // more', USER),
        ("M required username=alice/the rest of the line\n;", USER),
        ('M required username="alice" tokenauth="true";', {**USER, "tokenauth": "true"}),
        ('M required username="ålîcé 漢";', {"username": "ålîcé 漢"}),
        ("M required username=ålice;", {"username": "ålice"}),
    ],
)
def test_an_entrys_options(entry, options):
    assert login_options(entry) == options


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('M username="alice";', "behind the login module one of required, "),
        ('M required username="alice"', "it has to end with ;"),
        ('M required username="alice"; N required;', "more than one login module"),
        ('M required username "alice";', 'option 1 is not NAME="VALUE"'),
        ("M required username=alice password=;", 'option 2 is not NAME="VALUE"'),
        ("M required username=alice password=12ab;", 'option 2 is not NAME="VALUE"'),
        ("M required username=alice password=-ab;", 'option 2 is not NAME="VALUE"'),
        ("M required username=alice password=s3cret!x;", 'option 3 is not NAME="VALUE"'),
        ('M required username="alice" /* password="x";', "it has to end with ;"),
    ],
)
def test_what_kafkas_clients_refuse_is_refused_without_a_word_of_it(entry, why):
    with pytest.raises(InputError) as refusal:
        login_options(entry)
    assert str(refusal.value).startswith(f"sasl.jaas.config: {why}")
    assert "alice" not in str(refusal.value) and "cret" not in str(refusal.value)
