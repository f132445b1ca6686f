"""The packages that pyproject.toml lists by name are the ones on disk."""

from __future__ import annotations

from tests.contract.repository import FLOORS, PACKAGE, ROOT, pyproject


def packages_on_disk() -> dict[str, str]:
    """Import name -> folder, for the root of the package and every folder with Python files below the four floors."""
    folders = {path.parent.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")}
    below = {".".join(("maxfold", *folder.parts)): folder.as_posix() for folder in folders}
    return {"maxfold": PACKAGE, **below}


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
    assert (ROOT / PACKAGE / "py.typed").is_file()
    assert "py.typed" in data["maxfold"]


def test_the_package_root_holds_nothing_else() -> None:
    """A module in it would be imported as `maxfold.NAME`, and stand on no floor."""
    found = {path.name for path in (ROOT / PACKAGE).iterdir() if path.name != "__pycache__"}
    assert found == {"__init__.py", "__main__.py", "py.typed"}


def test_the_command_is_declared() -> None:
    assert pyproject()["project"]["scripts"] == {"maxfold": "maxfold.cli:app"}
