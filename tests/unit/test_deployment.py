"""Everything that is deployed, held to the code: images, settings, ports, probes, metrics, alerts, runbook.

No engine is asked: what only an engine can tell (that an image builds, that a container starts) is not shown.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prometheus_client import CollectorRegistry
from pydantic_settings import BaseSettings

from agents import main as command_line
from agents.api import metrics as api_metrics
from agents.api.app import document
from agents.refining import Refiner
from agents.refining_metrics import RefinerNumbers
from agents.webhooks import WebhookMetrics
from streams.kafka.health import Watch
from streams.kafka.metrics import Metrics
from streams.language_model import language_model_of
from streams.settings import KafkaSettings, LanguageModelSettings, Settings
from streams.webhook_config import load
from streams.webhook_delivery import Delivery
from tests.unit.test_docs import anchors

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*")


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8")))


def manifests() -> list[dict[str, Any]]:
    files = sorted(KUBERNETES.glob("*.yaml"))
    return [
        d for file in files if file.name != "kustomization.yaml" for d in yaml.safe_load_all(file.read_text())
    ]


def pods() -> dict[str, dict[str, Any]]:
    """The pod of each workload, by the workload's name."""
    return {d["metadata"]["name"]: d["spec"]["template"]["spec"] for d in manifests()
            if d["kind"] in ("Deployment", "StatefulSet")}  # fmt: skip


# -- settings and commands --------------------------------------------------------------------


def settings_names(kind: type[BaseSettings] = Settings) -> set[str]:
    """Every environment variable that is a setting."""
    prefix = str(kind.model_config["env_prefix"])
    found: set[str] = set()
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            found |= settings_names(field.annotation)
        else:
            found.add(f"{prefix}{name}".upper())
    return found


def environments() -> Iterator[tuple[str, dict[str, str]]]:
    """The environment of each process of ours, wherever it is deployed."""
    for name, service in compose()["services"].items():
        if service.get("image") == "factdrift":
            yield f"compose {name}", service["environment"]
    shared = {d["metadata"]["name"]: d["data"] for d in manifests() if d["kind"] == "ConfigMap"}
    for name, pod in pods().items():
        (container,) = pod["containers"]
        found: dict[str, str] = {}
        for source in container["envFrom"]:
            found |= shared[source["configMapRef"]["name"]]
        yield f"kubernetes {name}", found | {v["name"]: v.get("value", "x") for v in container["env"]}


ENVIRONMENTS = dict(environments())


@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_every_variable_is_a_setting_with_a_value_that_it_can_have(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {n: v for n, v in ENVIRONMENTS[where].items() if n.startswith("FACTDRIFT_")}

    assert set(ours) <= settings_names()
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    Settings()
    assert len(ours) >= 2


def commands() -> Iterator[tuple[str, list[str]]]:
    for name, service in compose()["services"].items():
        if service.get("image") == "factdrift":
            yield f"compose {name}", service["command"]
    for name, pod in pods().items():
        yield f"kubernetes {name}", pod["containers"][0]["command"]


@pytest.mark.parametrize(("where", "words"), list(commands()))
def test_every_command_exists(where: str, words: list[str]) -> None:
    command: Any = typer.main.get_command(command_line.app)
    assert words[0] == "factdrift", where
    arguments = words[1:]
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]

    command.make_context("factdrift", arguments).close()


# -- images -----------------------------------------------------------------------------------


def test_every_image_is_pinned_exactly() -> None:
    services = compose()["services"]
    images = [s["image"] for s in services.values() if s["image"] != "factdrift"]
    images += re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert [image for image in images if not PINNED.fullmatch(image)] == []
    assert all(s["build"] == "." for s in services.values() if s["image"] == "factdrift")
    assert len(images) >= 6


def test_a_cluster_says_which_release_it_runs() -> None:
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    assert [image["newTag"] for image in kustomization["images"]] == [version]
    assert {c["image"] for pod in pods().values() for c in pod["containers"]} == {"factdrift"}
    listed = {ROOT / "deploy" / "kubernetes" / name for name in kustomization["resources"]}
    assert listed == set(KUBERNETES.glob("*.yaml")) - {KUBERNETES / "kustomization.yaml"}


def test_the_image_is_built_from_everything_that_a_package_needs_and_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {w for line in lines if line.startswith("COPY ") and "--from" not in line
              for w in shlex.split(line)[1:-1]}  # fmt: skip
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {config["package-dir"].get(name, name.split(".")[0]) for name in config["packages"]}

    assert folders | {"pyproject.toml", "constraints.txt", "README.md"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert f"--uid {user} " in "\n".join(lines)
    assert int(user) > 0
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {f"!{name}" for name in copied} <= set(ignored)


def test_every_extra_that_is_installed_exists() -> None:
    (extras,) = re.findall(r'"\.\[([^\]]+)\]"', (ROOT / "Dockerfile").read_text())
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert set(extras.split(",")) <= set(known)


# -- compose ----------------------------------------------------------------------------------

SERVICE_KEYS = {
    "image", "build", "command", "init", "deploy", "depends_on", "environment", "healthcheck", "ports",
    "profiles", "restart", "secrets", "stop_grace_period", "volumes",
}  # fmt: skip


def test_what_a_service_names_is_there() -> None:
    file = compose()
    assert set(file) <= {"name", "services", "volumes", "secrets"}
    for name, service in file["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service.get("secrets", ())) <= set(file["secrets"])
        assert set(service.get("depends_on", ())) <= set(file["services"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source == "./webhooks.toml":
                assert service["profiles"]  # the user's own, and asked for only then
            elif source.startswith("./"):
                assert (ROOT / source).is_dir(), source
            else:
                assert source in file["volumes"], source


def test_it_brings_all_that_is_promised() -> None:
    services = compose()["services"]

    assert {"kafka", "redis", "worker", "api", "prometheus", "grafana"} <= set(services)
    assert services["worker"]["deploy"]["replicas"] == 2
    for name, service in services.items():
        if isinstance(service.get("depends_on"), dict):
            for other, how in service["depends_on"].items():
                assert how["condition"] != "service_healthy" or "healthcheck" in services[other], name


def test_no_port_is_open_to_the_network_and_none_is_taken_twice() -> None:
    ports = [port for service in compose()["services"].values() for port in service.get("ports", ())]

    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert len({port.split(":")[1] for port in ports}) == len(ports)


def test_no_secret_stands_in_a_file() -> None:
    for where, environment in ENVIRONMENTS.items():
        for name, value in environment.items():
            if re.search(r"PASSWORD|TOKENS$|SECRET|API_KEY", name):
                assert value.startswith("${"), f"{where}: {name}"
    assert all("environment" in secret for secret in compose()["secrets"].values())
    assert not [d for d in manifests() if d["kind"] == "Secret"]


# -- ports and probes -------------------------------------------------------------------------

WORKER_PATHS = {"/healthz", "/readyz", "/metrics"}
WEBHOOK_PATHS = {"/healthz", "/metrics"}


def port_of(environment: dict[str, str], command: list[str]) -> int:
    """The port on which a process answers, and which is asked from outside its container."""
    if command[1] == "api":
        assert environment["FACTDRIFT_API_HOST"] == "0.0.0.0"
        return int(environment.get("FACTDRIFT_API_PORT", Settings().api.port))
    assert environment["FACTDRIFT_HEALTH_HOST"] == "0.0.0.0"
    return int(environment["FACTDRIFT_HEALTH_PORT"])


def paths_of(command: list[str]) -> set[str]:
    served = {"worker": WORKER_PATHS, "webhooks": WEBHOOK_PATHS, "api": set(document()["paths"])}
    return served[command[1]]


@pytest.mark.parametrize("name", pods())
def test_probes_ask_what_a_process_answers(name: str) -> None:
    (container,) = pods()[name]["containers"]
    environment, command = ENVIRONMENTS[f"kubernetes {name}"], container["command"]
    probes = [container[kind] for kind in container if kind.endswith("Probe")]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert len(probes) >= 1
    for probe in probes:
        asked = probe["httpGet"]
        assert asked["path"] in paths_of(command)
        assert ports[asked["port"]] == port_of(environment, command)


def test_health_checks_of_compose_ask_what_a_process_answers() -> None:
    for name, service in compose()["services"].items():
        if service.get("image") == "factdrift" and "healthcheck" in service:
            (url,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", service["healthcheck"]["test"][-1])
            assert int(url[0]) == port_of(service["environment"], service["command"]), name
            assert url[1] in paths_of(service["command"])


def test_prometheus_asks_every_process_at_its_port() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    services = compose()["services"]
    found = {}
    for job in config["scrape_configs"]:
        (names,) = job["dns_sd_configs"]
        (name,) = names["names"]
        found[job["job_name"]] = name
        assert names["port"] == port_of(services[name]["environment"], services[name]["command"])
        assert "/metrics" in paths_of(services[name]["command"])

    assert found == {f"factdrift-{name}": name for name in ("worker", "api", "webhooks")}
    (token,) = [job["authorization"]["credentials_file"] for job in config["scrape_configs"]
                if "authorization" in job]  # fmt: skip
    assert token == services["api"]["environment"]["FACTDRIFT_API_TOKEN_FILE"]
    assert all("api-token" in services[name]["secrets"] for name in ("api", "prometheus"))


def test_pods_are_restricted_and_services_lead_to_them() -> None:
    labels = {}
    for d in manifests():
        if d["kind"] in ("Deployment", "StatefulSet"):
            labels[d["metadata"]["name"]] = d["spec"]["template"]["metadata"]["labels"]
            assert d["spec"]["selector"]["matchLabels"] == labels[d["metadata"]["name"]]
    for d in manifests():
        if d["kind"] == "Service":
            assert d["spec"]["selector"] == labels[d["metadata"]["name"]]
            ports = {p["name"] for p in pods()[d["metadata"]["name"]]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in d["spec"]["ports"]} <= ports
    for pod in pods().values():
        assert pod["securityContext"]["runAsNonRoot"]
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        named = {volume["name"] for volume in pod["volumes"]}
        named |= {"tables"} if container["name"] == "worker" else set()
        assert {mount["name"] for mount in container["volumeMounts"]} == named


# -- metrics, dashboard, alerts ---------------------------------------------------------------


def exported(tmp_path: Path) -> dict[str, set[str]]:
    """Every series that a process of ours exports, with its labels."""
    worker, api, webhooks = Metrics(), api_metrics.Metrics(), WebhookMetrics()
    watch = Watch(KafkaSettings(), worker)
    watch.vitals.beat_age_s = lambda: 1.0
    config = tmp_path / "webhooks.toml"
    config.write_text('[webhooks.a]\nurl = "https://example.org"\nsecret_env = "S"')
    (receiver,) = load(config, {"S": "whsec_" + "A" * 32})

    async def keep(_key: bytes, _value: bytes) -> None: ...

    webhooks.watch([Delivery(receiver, keep)])
    model = language_model_of(LanguageModelSettings(model="m"))
    worker.registry.register(RefinerNumbers(Refiner(model, batch_timeout_s=1, kept_max=0)))
    found: dict[str, set[str]] = {"up": set()}
    for registry in (worker.registry, api.registry, webhooks.registry):
        found |= series(registry)
    return found


def series(registry: CollectorRegistry) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = {}
    for collector in registry._collector_to_names:
        names = set(getattr(collector, "_labelnames", ()))
        for metric in collector.collect():
            own = names | set(getattr(metric, "_labelnames", ()))
            if metric.type == "histogram":
                labels |= {f"{metric.name}_{part}": own for part in ("count", "sum")}
                labels[f"{metric.name}_bucket"] = own | {"le"}
            else:
                labels[f"{metric.name}_total" if metric.type == "counter" else metric.name] = own
    return labels


OF_PROMETHEUS = {"instance", "job"}
WORDS = {
    "sum", "max", "min", "avg", "by", "on", "group_left", "unless", "and", "or", "rate", "increase", "delta",
    "absent", "histogram_quantile",
}  # fmt: skip


def used(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each series of an expression with the labels that are selected of it."""
    bare = re.sub(r"\b(?:by|on|group_left) \([^)]*\)", "", expression)
    bare = re.sub(r"\[\d+\w\]", "", bare)
    for name, selectors in re.findall(r"([a-zA-Z_]\w*)(\{[^}]*\})?", re.sub(r'"[^"]*"', '""', bare)):
        if name not in WORDS:
            yield name, set(re.findall(r"(\w+)\s*[=!]", selectors))


def grouped(expression: str) -> set[str]:
    """The labels by which an expression groups or joins."""
    inside = re.findall(r"\b(?:by|on|group_left) \(([^)]*)\)", expression)
    return {label.strip() for labels in inside for label in labels.split(",") if label.strip()}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    return dict(json.loads((DEPLOY / "grafana" / "dashboards" / "factdrift.json").read_text()))


def expressions() -> list[str]:
    found = [rule["expr"] for rule in rules()]
    return found + [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def test_every_series_of_an_alert_or_a_panel_exists_with_its_labels(tmp_path: Path) -> None:
    known = exported(tmp_path)
    for expression in expressions():
        names = list(used(expression))
        assert names, expression
        labels = set(OF_PROMETHEUS)
        for name, selected in names:
            assert name in known, f"{name} in {expression}"
            assert selected <= known[name] | OF_PROMETHEUS, f"{name} in {expression}"
            labels |= known[name]
        assert grouped(expression) <= labels, expression


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("factdrift_helthy == 0", [("factdrift_helthy", set())]),
        ('sum by (a) (rate(x_total{b=~"y|z"}[5m])) * 60', [("x_total", {"b"})]),
        ("a > on (instance) group_left () b", [("a", set()), ("b", set())]),
    ],
)
def test_a_series_is_found_in_an_expression(expression: str, found: list[tuple[str, set[str]]]) -> None:
    assert list(used(expression)) == found


@pytest.mark.parametrize("expression", expressions())
def test_brackets_of_an_expression_close(expression: str) -> None:
    pairs = {")": "(", "]": "[", "}": "{"}
    opened: list[str] = []
    for character in re.sub(r'"[^"]*"', "", expression):
        if character in pairs.values():
            opened.append(character)
        elif character in pairs:
            assert opened.pop() == pairs[character]
    assert opened == []


def test_every_number_that_a_process_exports_is_shown_somewhere(tmp_path: Path) -> None:
    shown = {name for expression in expressions() for name, _ in used(expression)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported(tmp_path)
            if name.startswith("factdrift_")}  # fmt: skip

    assert ours - families == set()


def test_labels_in_the_words_of_an_alert_are_there(tmp_path: Path) -> None:
    known = exported(tmp_path)
    for rule in rules():
        told = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        by = re.search(r"\bby \(([^)]*)\)", rule["expr"])
        labels = {one.strip() for one in by[1].split(",")} if by else set(OF_PROMETHEUS)
        if by is None:
            labels |= known[next(used(rule["expr"]))[0]]
        assert told <= labels, rule["alert"]


def test_every_alert_has_a_heading_in_the_runbook_and_every_heading_an_alert() -> None:
    page = ROOT / "docs" / "runbook.md"
    names = [rule["alert"] for rule in rules()]

    assert len(set(names)) == len(names)
    assert re.findall(r"^### (\w+)$", page.read_text(), re.MULTILINE) == names
    for rule in rules():
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in anchors(page)
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_the_dashboard_is_provisioned_where_grafana_looks_for_it() -> None:
    grafana = compose()["services"]["grafana"]
    mounts = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    provisioning = DEPLOY / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "factdrift.yml").read_text())["providers"]
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]

    assert provider["options"]["path"] == mounts["./deploy/grafana/dashboards"]
    assert mounts["./deploy/grafana/provisioning"] == "/etc/grafana/provisioning"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/factdrift.json"
    uids = {t["datasource"]["uid"] for panel in dashboard()["panels"] for t in panel.get("targets", ())}
    assert uids == {source["uid"]}
    assert source["url"] == "http://prometheus:9090"
    boxes = [panel["gridPos"] for panel in dashboard()["panels"]]
    assert all(box["x"] + box["w"] <= 24 for box in boxes)
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(boxes)
