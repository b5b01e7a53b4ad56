"""A round through what kgroup's dependencies do for it, in whatever environment it is installed.

`python tests/smoke.py FIXTURES`: needs neither pytest nor this repository on the path, only kgroup and the
folder of fixtures. `scripts/bounds.sh` runs it with the lowest and the highest versions that are allowed.
"""

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

warnings.simplefilter("ignore")  # of libraries that are older than the Python

FIXTURES = Path(sys.argv[1]).resolve()
LIVES = str(FIXTURES / "4.3.1" / "lives")


COMPILED = """
from kgroup.scan.kernels.compile import TIER
TIER.as_python_bytes = -1
from kgroup.log.files import small
small.SMALL_BYTES = -1
from kgroup.__main__ import main
main()
"""


def answer_to(*arguments: str, compiled: bool = False) -> str:
    """What a command prints, by compiled code if asked for; anything but success ends the round."""
    kgroup = ["-c", COMPILED] if compiled else ["-m", "kgroup"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", *kgroup, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"kgroup {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr}")
    return ended.stdout


def require(holds: bool, words: str) -> None:
    if not holds:
        sys.exit(f"smoke: {words}")


def reports_of_files() -> None:
    """typer, rich, tabulate and wcwidth: every form of output; numba, numpy and pyarrow: what is in it."""
    table = answer_to("lag-report", LIVES, "-q")
    rows = answer_to("lag-report", LIVES, "-q", "-o", "jsonl").splitlines()
    require(len(rows) > 20, "lag-report has too few rows")
    require(answer_to("lag-report", LIVES, "-q", compiled=True) == table, "lag-report compiled by numba")
    require(len(table.splitlines()) == len(rows) + 1, "a table has other rows than jsonl")
    require(len(answer_to("lag-report", LIVES, "-q", "-o", "csv").splitlines()) == len(rows) + 1, "csv")
    require("status" in answer_to("lag-report", LIVES, "-q", "-o", "json", "--status"), "json with a status")
    for older in sorted(FIXTURES.glob("[0-3].*/lives")):
        require(len(answer_to("lag-report", str(older), "-q").splitlines()) > 1, f"{older} has no rows")
    with tempfile.TemporaryDirectory() as folder:
        page, parquet = Path(folder, "lag.html"), Path(folder, "lag.parquet")
        answer_to("lag-report", LIVES, "-q", "--html", str(page))
        require("</html>" in page.read_text() and "orders-app" in page.read_text(), "a page without groups")
        answer_to("lag-report", LIVES, "-q", "-o", "parquet", "--output", str(parquet))
        require(parquet.read_bytes()[:4] == b"PAR1", "no Parquet file")
        answer_to("decode", LIVES, "-q", "-o", "parquet", "--output", str(parquet))
        require(parquet.read_bytes()[-4:] == b"PAR1", "no Parquet file of records")


def other_commands() -> None:
    require("kgroup lag-report" in answer_to("lag-report", "--help"), "help")
    require(len(answer_to("decode", LIVES, "-o", "jsonl").splitlines()) > 100, "decode")
    require("first-join" in answer_to("replay", LIVES, "--group", "orders-app"), "replay")
    require(len(answer_to("what-if", LIVES, "--group", "orders-app", "--static", "-q")) > 0, "what-if")
    require("orders" in answer_to("assign", LIVES, "--group", "orders-app"), "assign")
    require(len(answer_to("simulate", "--list").splitlines()) > 3, "simulate --list")
    require(len(answer_to("simulate", "c1-leaves-under-sticky", "--seed", "1")) > 0, "simulate")


def compressed_records() -> None:
    """cramjam and google-crc32c: batches in each of Kafka's codecs."""
    from kgroup.log.format.compression import Codec, compress, decompress

    for codec in Codec:
        require(bytes(decompress(codec, compress(codec, b"kafka" * 99))) == b"kafka" * 99, f"codec {codec}")


def live_cluster() -> None:
    """kafka-python: against kgroup's own broker."""
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

    import kgroup.testing

    with kgroup.testing.cluster(topics={"orders": 2}) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap)
        for number in range(6):
            producer.send("orders", b"%d" % number, partition=number % 2).get(timeout=30)
        producer.close()
        consumer = KafkaConsumer(
            bootstrap_servers=cluster.bootstrap, group_id="billing", enable_auto_commit=False
        )
        partition = TopicPartition("orders", 1)
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(1, "", -1)})
        consumer.close()
        [row] = rows_of("lag-report", "-b", cluster.bootstrap, "--time-lag", "exact")
        require((row["current_offset"], row["log_end_offset"], row["lag"]) == (1, 3, 2), f"live row: {row}")
        require(row["time_lag_ms"] is not None, "no time lag")
        [where] = rows_of("find-coordinator", "billing", "-b", cluster.bootstrap)
        require(where["rule_agrees"] is True, "the coordinator is elsewhere")
        joined = answer_to(
            "join", "-b", cluster.bootstrap, "--group", "g", "--topic", "orders", "--for", "2s", "-o", "jsonl"
        )
        require('"left"' in joined, "a member did not leave")


def rows_of(*arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in answer_to(*arguments, "-q", "-o", "jsonl").splitlines()]


def key_stores() -> None:
    """cryptography, where it is installed."""
    if importlib.util.find_spec("cryptography") is None:
        return
    from kgroup.net.connect.tls import tls_context

    stores = FIXTURES.parent / "tests" / "net" / "connect" / "stores"
    if stores.is_dir():
        properties = {
            "ssl.truststore.location": str(stores / "trust.p12"),
            "ssl.truststore.password": "store pass",
            "ssl.keystore.location": str(stores / "key.p12"),
            "ssl.keystore.password": "store pass",
        }
        require(len(tls_context(properties).get_ca_certs()) == 1, "the truststore's authority is missing")


def main() -> None:
    rounds: list[Callable[[], None]] = [
        reports_of_files,
        other_commands,
        compressed_records,
        live_cluster,
        key_stores,
    ]
    for one in rounds:
        one()
    direct = [text.partition(";")[0] for text in metadata.requires("kgroup") or () if "extra ==" not in text]
    names = sorted(re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in direct)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    print(f"smoke: all well on Python {sys.version.split()[0]} with {versions}")


if __name__ == "__main__":
    main()
