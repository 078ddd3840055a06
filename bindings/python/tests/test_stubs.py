"""The stubs describe the native module as it is."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pathlib
import subprocess
import sys

import pytest
import tarebench
from tarebench import _native

FOLDER = pathlib.Path(tarebench.__file__).parent
STUBS = ast.parse((FOLDER / "_native.pyi").read_text(encoding="utf-8"))


def public(names):
    return {name for name in names if not name.startswith("_")}


def members(node):
    """Names of methods, properties and annotated attributes."""
    defined = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return defined | {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}


def parameters(node):
    of = node.args
    names = [arg.arg for arg in (*of.posonlyargs, *of.args, *of.kwonlyargs)]
    return [*names, *(extra.arg for extra in (of.vararg, of.kwarg) if extra is not None)]


CLASSES = [node for node in STUBS.body if isinstance(node, ast.ClassDef)]
FUNCTIONS = [node for node in STUBS.body if isinstance(node, ast.FunctionDef)]


def test_the_package_is_typed():
    assert (FOLDER / "py.typed").is_file()


def test_every_name_is_described():
    described = {node.name for node in (*CLASSES, *FUNCTIONS)} | {"VERSION"}
    assert described == public(dir(_native))


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_every_member_is_described(node):
    found = getattr(_native, node.name)
    if node.name == "TareError":
        assert issubclass(found, Exception) and public(members(node)) == {"message", "hint", "exit_code"}
        return
    assert public(members(node)) == public(vars(found))
    assert {name for name in members(node) if name.startswith("__")} <= set(dir(found))


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_parameters_have_their_names(node):
    assert list(inspect.signature(getattr(_native, node.name)).parameters) == parameters(node)


def test_public_names_are_there_and_documented():
    for name in tarebench.__all__:
        found = getattr(tarebench, name)
        assert name == "__version__" or inspect.getdoc(found), name


def test_mypy_accepts_the_package(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    words = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--package", "tarebench"]
    checked = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
