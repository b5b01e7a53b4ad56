"""A package that is deferred: its modules without the rest, and everything when that is asked for."""

import subprocess
import sys
from importlib.metadata import version

import pytest


def said(program: str) -> str:
    """What a Python of its own prints, in which kafka is deferred."""
    source = f"import sys; from kgroup.cli.shell.deferred import defer; defer()\n{program}"
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_module_comes_without_its_package() -> None:
    program = "import kafka.protocol.api_data; print('kafka.admin' in sys.modules, kafka.protocol.__name__)"
    assert said(program) == "False kafka.protocol"


def test_what_the_package_has_comes_when_it_is_asked_for() -> None:
    program = "import kafka.protocol.api_data; from kafka import KafkaAdminClient; import kafka"
    assert said(
        f"{program}; print(KafkaAdminClient.__name__, type(kafka).__name__, kafka.__version__ > '3')"
    ) == ("KafkaAdminClient module True")


def test_a_star_and_a_package_within_work_too() -> None:
    program = "from kafka.protocol.consumer import FetchRequest, metadata; from kafka import *"
    assert said(f"{program}; print(FetchRequest.__name__, metadata.__name__, KafkaConsumer.__name__)") == (
        "FetchRequest kafka.protocol.consumer.metadata KafkaConsumer"
    )


def test_what_it_has_not_is_an_attribute_error() -> None:
    assert said("import kafka; print(hasattr(kafka, 'nosuch'))") == "False"


def test_a_package_that_runs_already_goes_on() -> None:
    source = (
        "import kafka; from kgroup.cli.shell.deferred import defer; defer(); import kafka.protocol.api_data"
    )
    program = f"{source}; print(type(kafka).__name__)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "module\n"


def test_modules_of_python_come_when_they_are_asked_for() -> None:
    program = "import subprocess, platform; print(type(subprocess).__name__, 'selectors' in sys.modules)"
    assert said(f"{program}; print(subprocess.PIPE, platform.system() > '', type(platform).__name__)") == (
        "DeferredPackage False\n-1 True module"
    )


WIDTHS = "print(wcwidth.wcswidth('日本'), wcwidth.wcswidth('e\u0301'), type(wcwidth).__name__)"


def test_widths_come_without_the_rest_of_their_package_which_comes_for_more() -> None:
    program = f"import wcwidth; before = wcwidth.wcswidth; {WIDTHS}; print('wcwidth.grapheme' in sys.modules)"
    more = "print(wcwidth.wrap('日本語', 4), type(wcwidth).__name__, wcwidth.wcswidth is before)"
    assert said(f"{program}; {more}").splitlines() == [
        "4 1 DeferredPackage",
        "False",
        "['日本', '語'] module True",
    ]


def test_widths_come_from_the_package_where_its_c_is_not_wanted_or_not_there() -> None:
    wanted = f"import os, wcwidth; os.environ['WCWIDTH_PYTHON'] = '1'; {WIDTHS}"
    assert said(f"{wanted}; print('wcwidth._wcwidth_c' in sys.modules)") == "4 1 module\nFalse"
    assert said(f"import wcwidth; sys.modules['wcwidth._wcwidth_c'] = None; {WIDTHS}") == "4 1 module"


TABLE = "import tabulate; print(tabulate.tabulate([[1, 2]], tablefmt='plain'), tabulate.__version__"


def test_tabulate_does_without_its_version_and_everybody_else_has_them() -> None:
    assert said(f"{TABLE}, 'importlib.metadata' in sys.modules)") == "1  2 unknown False"
    program = "from importlib.metadata import version; print(version('tabulate'))"
    assert said(f"{TABLE}); {program}").splitlines() == ["1  2 unknown", version("tabulate")]
    assert said(f"import importlib.metadata; {TABLE})") == f"1  2 {version('tabulate')}"


def test_tabulate_says_its_version_where_it_was_imported_before() -> None:
    source = f"{TABLE}); from kgroup.cli.shell.deferred import defer; defer(); {TABLE})"
    answer = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [f"1  2 {version('tabulate')}"] * 2


ARROW = "import pyarrow as pa; print(pa.array(['a', None]).to_pylist(), 'pandas' in sys.modules)"


def test_arrow_does_without_pandas_which_everybody_else_finds() -> None:
    program = "import pandas; print(pandas.Series([1]).sum(), pandas.DataFrame({'a': [1, 2]}).shape)"
    assert said(f"{ARROW}; {program}").splitlines() == ["['a', None] False", "1 (2, 1)"]


@pytest.mark.parametrize("there", ["pandas", "pyspark"])
def test_arrow_has_pandas_where_it_or_spark_was_imported_before(there: str) -> None:
    program = "import pandas; print(pa.array(pandas.Series([1, 2])).to_pylist())"
    program += "; print(pa.table({'a': [3]}).to_pandas()['a'].sum())"
    answer = said(f"import {there}; {ARROW}; {program}").splitlines()
    assert answer == ["['a', None] True", "[1, 2]", "3"]
