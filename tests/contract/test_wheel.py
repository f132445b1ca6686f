"""The packages that pyproject.toml lists by name are the ones on disk."""

from __future__ import annotations

from tests.contract.repository import FLOORS, ROOT, pyproject


def packages_on_disk() -> dict[str, str]:
    """Import name -> folder, for every folder with Python files below the four floors."""
    folders = {path.parent.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")}
    return {".".join(("maxfold", *folder.parts)): folder.as_posix() for folder in folders}


def test_listed_packages_are_on_disk_and_vice_versa() -> None:
    settings = pyproject()["tool"]["setuptools"]
    assert sorted(settings["packages"]) == sorted(packages_on_disk())
    assert settings["package-dir"] == packages_on_disk()


def test_every_package_has_an_init() -> None:
    for folder in packages_on_disk().values():
        assert (ROOT / folder / "__init__.py").is_file(), folder


def test_every_floor_is_marked_as_typed() -> None:
    data = pyproject()["tool"]["setuptools"]["package-data"]
    for floor in FLOORS:
        assert (ROOT / floor / "py.typed").is_file()
        assert "py.typed" in data[f"maxfold.{floor}"]


def test_the_command_is_declared() -> None:
    assert pyproject()["project"]["scripts"] == {"maxfold": "maxfold.cli:app"}
