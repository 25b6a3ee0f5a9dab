"""The HTTP API: what is asked of and said to factdrift over REST, with a stream of changes (DESIGN 9)."""

from agents.api.app import create
from agents.api.serving import serve_embedded, serve_kafka
from agents.api.tokens import UnsafeApi

__all__ = ["UnsafeApi", "create", "serve_embedded", "serve_kafka"]
