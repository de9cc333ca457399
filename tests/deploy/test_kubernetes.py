"""The manifests of Kubernetes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.deploy.processes import DEPLOY, LINES, SHARED

FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
#: the package with the schemas of Kubernetes; it unpacks to 70 MB, so only the drill installs it
VALIDATOR = "kubernetes-validate==1.37.0"


def resources() -> list[dict[str, Any]]:
    return [one for path in FILES for one in yaml.safe_load_all(path.read_text())]


WORKLOADS = [one for one in resources() if one["kind"] in ("Deployment", "Job")]


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    return workload["spec"]["template"]["spec"]


def container(workload: dict[str, Any]) -> dict[str, Any]:
    [one] = pod(workload)["containers"]
    return one


def test_each_line_of_the_procfile_is_one_workload():
    commands = [container(one)["args"] for one in WORKLOADS]

    assert sorted(commands) == sorted([line] for line in LINES)
    assert [one["metadata"]["name"] for one in WORKLOADS] == [
        f"crawlsite-{name}" for [name] in commands
    ]


def test_all_processes_are_of_one_version_and_have_the_same_settings():
    assert len({container(one)["image"] for one in WORKLOADS}) == 1
    assert {str(container(one)["envFrom"]) for one in WORKLOADS} == {
        "[{'configMapRef': {'name': 'crawlsite'}}, {'secretRef': {'name': 'crawlsite'}}]"
    }
    [secret] = [one for one in resources() if one["kind"] == "Secret"]
    assert set(secret["stringData"]) == SHARED


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one["metadata"]["name"])
def test_no_process_has_more_rights_or_memory_than_it_needs(workload):
    rights = container(workload)["securityContext"]

    assert pod(workload)["securityContext"]["runAsNonRoot"]
    assert not pod(workload)["automountServiceAccountToken"]
    assert not rights["allowPrivilegeEscalation"]
    assert rights["readOnlyRootFilesystem"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert container(workload)["resources"]["limits"]["memory"]


def test_each_process_with_a_port_is_probed_and_has_a_service():
    ports = {one["metadata"]["name"]: one for one in WORKLOADS if container(one).get("ports")}

    assert set(ports) == {
        one["metadata"]["name"] for one in resources() if one["kind"] == "Service"
    }
    assert all({"livenessProbe", "readinessProbe"} <= set(container(one)) for one in ports.values())


def test_workers_have_a_state_directory_of_their_own():
    """Locks of a state directory name process numbers, which count in one container."""
    mounts = {
        container(one)["args"][0]: {
            mount["mountPath"]: mount["name"] for mount in container(one)["volumeMounts"]
        }
        for one in WORKLOADS
    }

    own = {name for name, places in mounts.items() if "/var/lib/crawlsite/state" in places}
    assert own == {"worker"}
    assert {places["/var/lib/crawlsite"] for places in mounts.values()} == {"data"}


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_kubernetes_accepts_each_manifest(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--target", tmp_path, VALIDATOR], check=True
    )

    said = subprocess.run(
        [sys.executable, tmp_path / "bin/kubernetes-validate", "--strict", *FILES],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stderr.count(" passed ") + said.stdout.count(" passed ") == len(resources())
