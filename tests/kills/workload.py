"""A client that writes with requests in flight until its broker is killed, and keeps book of the answers."""

import random
from collections.abc import Callable
from typing import Any, Final

from tests.kills import requests
from tests.kills.book import ABSENT, COPY_GROUP, GROUP, Book, Ending, Transaction
from tests.kills.process import PARTITIONS, TOPIC
from tests.net.wire_client import WireClient

_IN_FLIGHT: Final = 20
_PRODUCED_MAX: Final = 4
Took = Callable[[Any], None]


class Workload:
    """One life's writing. `play` ends in the middle of it: the last requests have no answer yet."""

    def __init__(
        self, client: WireClient, book: Book, chance: random.Random, *, may_be_refused: bool
    ) -> None:
        self._client = client
        self._book = book
        self._chance = chance
        self._may_be_refused = may_be_refused
        self._waiting: list[Took] = []
        self._producer: requests.Producer | None = None
        self._sequences = [0] * PARTITIONS

    def play(self, moves: int) -> None:
        """Send `moves` pieces of work."""
        kinds = (self._produce, self._commit, self._transaction, self._change_topics)
        for _ in range(moves):
            self._chance.choices(kinds, (8, 8, 3, 1))[0]()

    def _send(self, request: Any, took: Took) -> None:
        self._client.send(request)
        self._waiting.append(took)
        if len(self._waiting) >= _IN_FLIGHT:
            self._take()

    def _take(self) -> None:
        answer = self._client.receive()
        self._waiting.pop(0)(answer)

    def _values(self, partition: int) -> list[str]:
        """New ones; some are long, so that segments are filled."""
        values = []
        for _ in range(self._chance.randint(1, _PRODUCED_MAX)):
            value = f"{len(self._book.sent)}{'.' * self._chance.choice((0, 0, 900))}"
            self._book.sent[value] = partition
            values.append(value)
        return values

    def _produce(self) -> None:
        partition = self._chance.randrange(PARTITIONS)
        values = self._values(partition)

        def took(answer: Any) -> None:
            result = answer.responses[0].partition_responses[0]
            if result.error_code == 0:
                for number, value in enumerate(values):
                    self._book.store(partition, result.base_offset + number, value)

        self._send(requests.produce(TOPIC, partition, values, None, -1), took)

    def _commit(self) -> None:
        book = self._book
        chosen = self._chance.sample(range(PARTITIONS), self._chance.randint(1, PARTITIONS))
        offsets = {partition: book.offset_sent.get(partition, ABSENT) + 1 for partition in chosen}
        book.offset_sent.update(offsets)

        def took(answer: Any) -> None:
            for part in answer.topics[0].partitions:
                if part.error_code == 0:
                    book.offset_acknowledged[part.partition_index] = offsets[part.partition_index]
                    book.acknowledged += 1

        self._send(requests.commit(GROUP, TOPIC, offsets), took)

    def _transaction(self) -> None:
        producer = self._current_producer()
        transaction = Transaction(len(self._book.transactions))
        self._book.transactions.append(transaction)
        partitions = self._chance.sample(range(PARTITIONS), self._chance.randint(1, PARTITIONS))
        self._send(requests.add_partitions(producer, TOPIC, partitions), self._took_partitions)
        for partition in partitions:
            self._produce_in(transaction, producer, partition)
        if self._chance.random() < 0.7:
            self._send(requests.add_offsets(producer, COPY_GROUP), self._took_group)

            def took(answer: Any) -> None:
                if answer.topics[0].partitions[0].error_code == 0:
                    transaction.offset = transaction.number

            transaction.offset = transaction.number  # it counts if the transaction does, told or not
            self._send(requests.transactional_commit(producer, COPY_GROUP, TOPIC, transaction.number), took)
        while self._waiting:  # as real producers do: the end is for what was acknowledged
            self._take()
        is_commit = self._chance.random() < 0.7
        transaction.ending = Ending.COMMIT_SENT if is_commit else Ending.ABORT_SENT

        def ended(answer: Any) -> None:
            if answer.error_code == 0:
                transaction.ending = Ending.COMMITTED if is_commit else Ending.ABORTED
                self._book.acknowledged += 1

        self._send(requests.end(producer, is_commit=is_commit), ended)

    def _produce_in(self, transaction: Transaction, producer: requests.Producer, partition: int) -> None:
        values = self._values(partition)
        transaction.values.update(dict.fromkeys(values, partition))

        def took(answer: Any) -> None:
            result = answer.responses[0].partition_responses[0]
            if self._refused(result.error_code, result):
                return
            for number, value in enumerate(values):
                self._book.store(partition, result.base_offset + number, value)

        request = requests.produce(TOPIC, partition, values, producer, self._sequences[partition])
        self._sequences[partition] += len(values)
        self._send(request, took)

    def _took_partitions(self, answer: Any) -> None:
        for topic in answer.results_by_topic_v3_and_below:
            for part in topic.results_by_partition:
                self._refused(part.partition_error_code, answer)

    def _took_group(self, answer: Any) -> None:
        self._refused(answer.error_code, answer)

    def _refused(self, error_code: int, answer: Any) -> bool:
        """Whether the broker refused; it may where the disk forgot what producers had been told."""
        assert not error_code or self._may_be_refused, answer
        return bool(error_code)

    def _current_producer(self) -> requests.Producer:
        if self._producer is None:
            self._producer = new_producer(self._client, self._take, lambda: len(self._waiting))
        return self._producer

    def _change_topics(self) -> None:
        book = self._book
        there = [name for name, is_there in book.topics.items() if is_there]
        if there and self._chance.random() < 0.5:
            name, request, is_there = there[0], requests.delete(there[0]), False
        else:
            name = f"extra-{len(book.topics)}"
            request, is_there = requests.create(name), True
        book.topics[name] = None

        def took(answer: Any) -> None:
            result = answer.topics[0] if is_there else answer.responses[0]
            if self._refused(result.error_code, result):
                return
            book.topics[name] = is_there
            book.acknowledged += 1

        self._send(request, took)


def new_producer(
    client: WireClient, take: Callable[[], None] = lambda: None, waiting: Callable[[], int] = lambda: 0
) -> requests.Producer:
    """A new epoch of the transactional id, once what is in flight has been answered."""
    while waiting():
        take()
    while True:
        answer = client.ask(requests.init_producer())
        if answer.error_code == 0:
            return answer.producer_id, answer.producer_epoch
