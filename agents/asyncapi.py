"""The AsyncAPI document: every public topic for programs, with its messages, its retention and its direction.

Made from the list of topics and the event models, and nothing else. Seen from factdrift, as AsyncAPI wants
it: factdrift receives what producers write, and sends the rest. The internal topics are no part of it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic.json_schema import models_json_schema
from pydantic_settings import BaseSettings

from streams.events import PUBLIC_MODELS, SCHEMA_VERSION, Input, Model
from streams.settings import KafkaSettings
from streams.topics import TOPICS, Topic, TopicSpec

KAFKA_BINDING: Final = "0.5.0"  # of AsyncAPI's own bindings for Kafka
_YAML_WORDS: Final = {"on", "off", "yes", "no", "y", "n", "true", "false", "null"}  # unquoted no texts


def asyncapi() -> dict[str, Any]:
    """The AsyncAPI 3.0 document as JSON values."""
    public = {spec: _messages_on(spec.topic) for spec in TOPICS if _messages_on(spec.topic)}
    internal = ", ".join(spec.topic for spec in TOPICS if spec not in public)
    place = "#/components/schemas/{model}"
    _, schemas = models_json_schema([(model, "validation") for model in PUBLIC_MODELS], ref_template=place)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "factdrift",
            "version": f"{SCHEMA_VERSION}.0.0",
            "description": (
                "Observations in, facts and their changes out. The version is that of the schemas. "
                f"{environment_variable(KafkaSettings, 'prefix')} is put before every address. "
                f"Not listed, because internal: {internal}."
            ),
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "kafka": {
                "host": KafkaSettings.model_fields["bootstrap"].default,
                "protocol": "kafka",
                "description": f"Another cluster: {environment_variable(KafkaSettings, 'bootstrap')}.",
            }
        },
        "channels": {spec.topic.value: _channel(spec, models) for spec, models in public.items()},
        "operations": {spec.topic.value: _operation(spec, models[0]) for spec, models in public.items()},
        "components": {
            "messages": {model.__name__: _message(model) for model in PUBLIC_MODELS},
            "schemas": dict(sorted(schemas["$defs"].items())),
        },
    }


def _messages_on(topic: Topic) -> list[type[Model]]:
    """What a topic carries; corrections are also read where observations are."""
    topics = {Topic.OBSERVATIONS, Topic.CORRECTIONS} if topic is Topic.OBSERVATIONS else {topic}
    return [model for model in PUBLIC_MODELS if model.topic in topics]


def _channel(spec: TopicSpec, models: Iterable[type[Model]]) -> dict[str, Any]:
    return {
        "address": spec.topic.value,
        "description": f"{sentence(spec.carries)} Key: {spec.key}.",
        "messages": {m.__name__: {"$ref": f"#/components/messages/{m.__name__}"} for m in models},
        "bindings": {
            "kafka": {
                "topicConfiguration": {
                    "cleanup.policy": ["compact" if spec.compacted else "delete"],
                    "retention.ms": spec.retention_ms,
                },
                "bindingVersion": KAFKA_BINDING,
            }
        },
    }


def _operation(spec: TopicSpec, model: type[Model]) -> dict[str, Any]:
    return {
        "action": "receive" if issubclass(model, Input) else "send",
        "channel": {"$ref": f"#/channels/{spec.topic.value}"},
        "summary": sentence(spec.carries),
    }


def _message(model: type[Model]) -> dict[str, Any]:
    return {
        "name": model.__name__,
        "summary": inspect.getdoc(model) or "",
        "payload": {"$ref": f"#/components/schemas/{model.__name__}"},
    }


def sentence(text: str) -> str:
    """A phrase of the code's own lists as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def environment_variable(model: type[BaseSettings], name: str) -> str:
    """The environment variable that sets a field of the settings."""
    alias = model.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else f"{model.model_config.get('env_prefix', '')}{name}".upper()


# -- YAML -----------------------------------------------------------------------------------


def yaml(value: Any, indent: str = "") -> str:
    """A value of JSON as block YAML. Texts are quoted as in JSON, so none is taken for something else."""
    if not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        entries = [(f"{_yaml_key(name)}:", inner) for name, inner in value.items()]
    else:
        entries = [("-", inner) for inner in value]
    lines = []
    for head, inner in entries:
        nested = bool(inner) and isinstance(inner, dict | list)
        body = yaml(inner, f"{indent}  ")
        lines.append(f"{indent}{head}\n{body}" if nested else f"{indent}{head} {body}")
    return "\n".join(lines)


def _yaml_key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z$][\w.$-]*", name) and name.casefold() not in _YAML_WORDS
    return name if plain else json.dumps(name, ensure_ascii=False)
