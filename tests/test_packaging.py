"""The wheel holds everything, and works where nothing else is."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

import edgeagent
from edgeagent.resources import models_dir


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*build, "--wheel-dir", folder, checkout], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an empty environment with the wheel in it.

    The dependencies are lent by this environment: building llama.cpp again would take minutes. Its site-packages are
    entered as a plain folder, after the new environment's own, so that the .pth of an editable install has no effect.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    bin_folder = home / "bin"
    install = [sys.executable, "-m", "pip", "--python", bin_folder / "python", "install", "--quiet", "--no-deps"]
    done = subprocess.run([*install, "--no-index", wheel], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (site_packages,) = home.glob("lib/python*/site-packages")
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages / "lent.pth").write_text("\n".join(lent), encoding="utf-8")
    return bin_folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a new user, whose home is the working directory."""
    return {"HOME": str(tmp_path), "PATH": os.defpath, "LANG": "C.UTF-8"}


def test_the_wheel_holds_the_models_and_no_more(wheel: Path, checkout: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    models = {f"edgeagent/_models/{path.relative_to(models_dir())}" for path in files_below(models_dir())}
    package = {str(path.relative_to(checkout)) for path in files_below(checkout / "edgeagent")}
    assert models
    assert "edgeagent/py.typed" in package
    assert names == models | package


def test_the_metadata_say_what_it_is(wheel: Path, checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with ZipFile(wheel) as archive:
        (folder,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        licence = archive.read(f"{folder}/licenses/LICENSE").decode()
        scripts = archive.read(f"{folder}/entry_points.txt").decode()
    assert metadata["Name"] == "edgeagent"
    assert metadata["Version"] == project["version"] == edgeagent.__version__ == version("edgeagent")
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in licence
    assert set(metadata["Requires-Python"].split(",")) == {">=3.11", "<3.14"}
    assert "edgeagent = edgeagent.__main__:main" in scripts
    assert "llama-cpp-python==0.3.36" in metadata.get_all("Requires-Dist")


def test_the_models_of_an_installed_wheel_are_its_own(installed: Path, elsewhere: dict[str, str]) -> None:
    program = "import edgeagent, edgeagent.resources as r; print(edgeagent.__file__, r.models_dir(), sep='\\n')"
    found = subprocess.run(
        [installed / "python", "-c", program],
        capture_output=True, text=True, check=True, timeout=60, cwd=elsewhere["HOME"], env=elsewhere,
    )  # fmt: skip
    package, models = map(Path, found.stdout.splitlines())
    assert package.is_relative_to(installed.parent)
    assert models == package.parent / "_models"
    assert models.is_dir()


def test_an_installed_wheel_answers_a_question(installed: Path, elsewhere: dict[str, str]) -> None:
    asked = subprocess.run(
        [installed / "edgeagent", "ask", "how full is your battery"],
        capture_output=True, text=True, timeout=100, cwd=elsewhere["HOME"], env=elsewhere,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.strip()


def test_the_models_of_a_checkout_lie_beside_the_package(checkout: Path) -> None:
    assert models_dir() == checkout / "models"


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
