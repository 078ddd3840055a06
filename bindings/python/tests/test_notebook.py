"""What notebooks show of a run."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import tarebench as tare
from tarebench import _notebook

WORK = f"{sys.executable} -S -E -c 'sum(range(1000))'"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    store = tmp_path_factory.mktemp("store") / "tare.db"
    return tare.run([WORK, WORK], runs=6, order="rounds", command_name=["<b>one</b>", "two & more"], db=store)


class Tags(HTMLParser):
    """The elements of a text, and whether each is closed in its place."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_html_is_well_formed_and_loads_nothing(run):
    text = run._repr_html_()
    tags = Tags(text)
    assert not tags.open
    names = {tag for tag, _ in tags.seen}
    assert {"table", "img", "style"} <= names and not names & {"script", "link", "iframe", "b"}
    assert all(attrs["src"].startswith("data:image/svg+xml;base64,") for tag, attrs in tags.seen if tag == "img")
    assert "&lt;b&gt;one&lt;/b&gt;" in text and "two &amp; more" in text
    assert "prefers-color-scheme: dark" in text


def test_the_html_has_the_figures_of_the_report(run):
    text = run._repr_html_()
    for series in run.series:
        assert _notebook.time(series.et.mean) in text and _notebook.time(series.pt.mean) in text
    assert f"{run.comparisons[0].ratio:.4g}" in text and run.comparisons[0].verdict in text


def test_images_are_svg(run):
    images = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', run._repr_html_())
    assert len(images) == 2
    for image in images:
        assert ElementTree.fromstring(base64.b64decode(image)).tag.endswith("svg")


@pytest.mark.parametrize("kind", ["sequence", "histogram"])
def test_a_figure_without_matplotlib(run, kind, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    figure = run.plot(kind, series=1)
    assert ElementTree.fromstring(figure._repr_svg_()).tag.endswith("svg")
    figure.save(str(tmp_path / "f.svg"))
    assert (tmp_path / "f.svg").read_text(encoding="utf-8") == figure.svg == run.figure(kind, 1).svg


@pytest.mark.parametrize("kind", ["sequence", "histogram"])
def test_axes_with_matplotlib(run, kind):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = run.plot(kind)
    assert axes.get_title() == run.series[0].name and axes.get_legend() is not None
    assert run.plot(kind, ax=axes) is axes


def test_what_cannot_be_drawn(run):
    with pytest.raises(ValueError, match="not a kind"):
        run.plot("pie")
    with pytest.raises(LookupError):
        run.plot(series=5)


def test_text_and_page(run):
    assert "two & more" in str(run) and len(run.text(full=True)) > len(run.text())
    assert "<html" in run.html().lower()
    assert any(name.startswith("program-1-") for name in run.figures())


def test_times_have_units():
    texts = [_notebook.time(ns) for ns in (None, 0.5, 999.9, 1234.5, 45.67e6, 1.5e9)]
    assert texts == ["–", "0.5 ns", "999.9 ns", "1.234 µs", "45.67 ms", "1.5 s"]


def test_a_notebook_shows_a_run(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    source = "import tarebench as tare\nr = tare.run(['true', 'sleep 0.01'], runs=3, warmup=0, db='none')\nr"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    (result,) = [output for output in book.cells[0].outputs if output.output_type == "execute_result"]
    assert "sleep 0.01" in result.data["text/plain"]
    assert all(part in result.data["text/html"] for part in ("<table", "data:image/svg+xml", "sleep 0.01"))
