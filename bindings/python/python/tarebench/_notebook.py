"""Runs in notebooks: HTML with a table and small figures, for light and dark themes; plots."""

from __future__ import annotations

import base64
import html as markup
from typing import TYPE_CHECKING, Any

from tarebench._signals import signal_name

if TYPE_CHECKING:
    from tarebench._result import Comparison, Measure, Run

#: Kinds of figures that `tare report --svg` draws of a program.
KINDS = ("sequence", "histogram", "account", "scatter")
#: More programs than these have no figures in the HTML, only rows.
MOST_FIGURES = 4
#: Of runs with more samples than these, the figures would be a large document.
MOST_SAMPLES = 20_000

#: The figures are dark on white: in dark themes their lightness is inverted. Everything else takes the theme's own colours.
_STYLE = """<style>
.tare-run table { border-collapse: collapse; margin: .4em 0; }
.tare-run th, .tare-run td { padding: .15em .7em; text-align: right; border-bottom: 1px solid rgba(128, 128, 128, .35); }
.tare-run th:first-child, .tare-run td:first-child { text-align: left; font-family: monospace; }
.tare-run .tare-note { opacity: .75; margin: .2em 0; }
.tare-run img { width: 24em; max-width: 100%; margin: .2em .4em .2em 0; }
[data-jp-theme-light="false"] .tare-run img, .vscode-dark .tare-run img { filter: invert(1) hue-rotate(180deg); }
@media (prefers-color-scheme: dark) {
  body:not([data-jp-theme-light]):not(.vscode-light):not(.vscode-dark) .tare-run img { filter: invert(1) hue-rotate(180deg); }
}
</style>"""


class Figure:
    """A figure as SVG, which notebooks show."""

    def __init__(self, svg: str) -> None:
        #: The document.
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<tarebench figure: {len(self.svg)} characters of SVG>"

    def save(self, path: str) -> None:
        """Write the SVG into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def time(ns: float | None) -> str:
    """A time with its unit, four digits; a dash where it is not known."""
    if ns is None:
        return "–"
    for limit, unit, scale in ((1e3, "ns", 1.0), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if abs(ns) < limit:
            return f"{ns / scale:.4g} {unit}"
    return f"{ns / 1e9:.4g} s"


def _cells(measure: Measure | None) -> list[str]:
    """Mean with deviation, and the interval of the mean."""
    if measure is None:
        return ["–", "–"]
    deviation = "" if measure.std_dev is None else f" ± {time(measure.std_dev)}"
    interval = measure.interval
    return [time(measure.mean) + deviation, "–" if interval is None else f"{time(interval.low)} to {time(interval.high)}"]


def _against(comparison: Comparison | None, is_reference: bool) -> list[str]:
    """Ratio with its interval, and the verdict."""
    if is_reference:
        return ["1", "reference"]
    if comparison is None:
        return ["–", "–"]
    interval = comparison.interval
    bounds = "" if interval is None else f" [{interval.low:.4g}, {interval.high:.4g}]"
    return [f"{comparison.ratio:.4g}{bounds}", comparison.verdict]


def _row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{markup.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def html(run: Run) -> str:
    """A table of the programs, figures of a few, and remarks."""
    head = ["program", "elapsed", "95% of the mean", "CPU time", "95% of the mean", "net time", "samples"]
    compared = {comparison.series: comparison for comparison in run.comparisons}
    reference = run.comparisons[0].reference if run.comparisons else None
    rows = []
    for i, series in enumerate(run.series):
        cells = [series.name, *_cells(series.et), *_cells(series.pt), _cells(series.net)[0], str(series.counted)]
        if reference is not None:
            cells += _against(compared.get(i), i == reference)
        rows.append(_row("td", cells))
    if reference is not None:
        head += ["ratio", "verdict"]
    table = f"<table><thead>{_row('th', head)}</thead><tbody>{''.join(rows)}</tbody></table>"
    parts = [_STYLE, '<div class="tare-run">', table, *_images(run), *_notes(run), "</div>"]
    return "\n".join(parts)


def _images(run: Run) -> list[str]:
    if len(run.series) > MOST_FIGURES or sum(series.counted for series in run.series) > MOST_SAMPLES:
        return []
    figures = run.figures()
    images = []
    for i, series in enumerate(run.series):
        svg = figures.get(_file(i, "sequence"))
        if svg is not None:
            # As an image of its own, neither its names nor its text can reach the notebook.
            data = base64.b64encode(svg.encode()).decode()
            images.append(f'<img alt="{markup.escape(series.name)}" src="data:image/svg+xml;base64,{data}">')
    return images


def _notes(run: Run) -> list[str]:
    which = "not stored" if run.id is None else f"run {run.id}"
    notes = [which]
    if run.interrupted:
        notes.append(f"interrupted by {signal_name(run.signal)}: the samples before it are here")
    if run.stopped is not None:
        notes.append(run.stopped)
    notes += [f"{series.name}: {len(series.failures)} executions failed" for series in run.series if series.failures]
    warned = [str(remark["text"]) for remark in run.report["remarks"] if remark["warning"]]
    return [f'<p class="tare-note">{markup.escape(note)}</p>' for note in [*notes, *warned]]


def _file(series: int, kind: str) -> str:
    """The name that `tare report --svg` gives to a figure."""
    return f"program-{series + 1}-{kind}.svg"


def figure(run: Run, kind: str, series: int) -> Figure:
    """The figure as the command draws it. Raises ValueError for another kind, or if there is nothing to draw."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of figure, expected one of {', '.join(KINDS)}")
    svg = run.figures().get(_file(series, kind))
    if svg is None:
        raise ValueError(f"{run.series[series].name} has nothing to draw as {kind}")
    return Figure(svg)


def plot(run: Run, kind: str, series: int, ax: Any) -> Any:
    """See :meth:`tarebench.Run.plot`."""
    if kind not in ("sequence", "histogram"):
        return figure(run, kind, series)
    try:
        from matplotlib import pyplot
    except ImportError:
        return figure(run, kind, series)
    return _draw(run, kind, series, pyplot.subplots()[1] if ax is None else ax)


def _draw(run: Run, kind: str, series: int, ax: Any) -> Any:
    """Retained and discarded samples with the report's mean and interval, in ms, by matplotlib."""
    # matplotlib needs it, too.
    import numpy

    found = run.series[series]
    name, label = ("pt", "CPU time") if found.pt is not None else ("et", "elapsed time")
    measure = found.pt or found.et
    columns = run.samples().to_numpy()
    values, discarded = columns[f"{name}_ns"], columns[f"{name}_discarded"] != None  # noqa: E711 – by element
    known = ~numpy.ma.getmaskarray(values)
    rows = (columns["series"] == series) & (columns["phase"] == "counted") & known
    if not rows.any():
        raise ValueError(f"{found.name} has nothing to draw as {kind}")
    numbers, values = columns["index"] + 1, numpy.ma.getdata(values) / 1e6
    if kind == "histogram":
        ax.hist(values[rows & ~discarded], bins="auto", label="samples")
        span, line = ax.axvspan, ax.axvline
        ax.set(xlabel=f"{label}, ms", ylabel="samples", title=found.name)
    else:
        for part, mark, whose in ((rows & ~discarded, "o", "samples"), (rows & discarded, "x", "discarded")):
            if part.any():
                ax.plot(numbers[part], values[part], mark, label=whose)
        span, line = ax.axhspan, ax.axhline
        ax.set(xlabel="sample", ylabel=f"{label}, ms", title=found.name)
    if measure is not None:
        line(measure.mean / 1e6, color="C3", label="mean of the retained samples")
        if measure.interval is not None:
            span(measure.interval.low / 1e6, measure.interval.high / 1e6, color="C3", alpha=0.15, label="95% of the mean")
    ax.legend()
    return ax
