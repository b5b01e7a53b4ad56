"""Names of OAUTHBEARER's properties (KIP-768, KIP-1139), apart from what has to import kafka-python."""

from typing import Final

URL: Final = "sasl.oauthbearer.token.endpoint.url"
HANDLER: Final = "sasl.login.callback.handler.class"
RETRIEVER: Final = "sasl.oauthbearer.jwt.retriever.class"
CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"
SCOPE: Final = "sasl.oauthbearer.scope"
URLENCODE: Final = "sasl.oauthbearer.header.urlencode"
TIMEOUTS: Final = ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")
PROPERTIES: Final = (URL, HANDLER, RETRIEVER, CLIENT_ID, CLIENT_SECRET, SCOPE, URLENCODE, *TIMEOUTS)
"""Every one that is read, besides `sasl.jaas.config`."""
