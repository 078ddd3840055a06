"""Samples of a run as columns, without a Python object for each."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarebench import _native


class Samples:
    """All samples of a run, warm-ups included, in columns that are named as in the command's CSV.

    Times end in ``_ns``; None, null or a mask where a value is not known. Hands itself to pyarrow, polars, DuckDB and others by
    the Arrow PyCapsule protocol, e.g. ``pyarrow.table(samples)``.
    """

    def __init__(self, native: _native.Samples) -> None:
        self._native = native

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._native)

    def __repr__(self) -> str:
        return f"<tarebench.Samples: {len(self)} samples, {len(self.names)} columns>"

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._native.names

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def column(self, name: str) -> list[Any]:
        """The values of a column as a list, None where unknown: a Python object for each. Raises KeyError."""
        kind, values, known, words = self._native.memory(name)
        numbers: array[Any] = array({"int64": "q", "float64": "d", "text": "i"}[kind], values)
        listed: list[Any] = numbers.tolist()
        if known is not None:
            listed = [value if is_known else None for value, is_known in zip(listed, known)]
        if words is None:
            return listed
        return [None if code is None else words[code] for code in listed]

    def to_numpy(self) -> dict[str, Any]:
        """The columns as numpy arrays, by name; masked arrays where a value is not known, objects for texts. Needs numpy."""
        import numpy

        columns: dict[str, Any] = {}
        for name in self.names:
            values, mask, words = self._numpy(numpy, name)
            if words is not None:
                values = numpy.array([*words, None], dtype=object)[values]
            columns[name] = values if mask is None or words is not None else numpy.ma.MaskedArray(values, mask)
        return columns

    def _numpy(self, numpy: Any, name: str) -> tuple[Any, Any, list[str] | None]:
        """Values, a mask of the unknown ones (None if all are known), and words; the code of an unknown text is -1."""
        kind, memory, known, words = self._native.memory(name)
        order = "<" if sys.byteorder == "little" else ">"
        values = numpy.frombuffer(memory, dtype=order + {"int64": "i8", "float64": "f8", "text": "i4"}[kind])
        mask = None if known is None else numpy.frombuffer(known, dtype="u1") == 0
        if words is not None and mask is not None:
            values = numpy.where(mask, -1, values)
        return values, mask, words

    def to_pandas(self) -> Any:
        """A DataFrame: integers with pandas' Int64 where a value is not known, texts as categories. Needs pandas."""
        import numpy
        import pandas

        columns: dict[str, Any] = {}
        for name in self.names:
            values, mask, words = self._numpy(numpy, name)
            if words is not None:
                columns[name] = pandas.Categorical.from_codes(values, categories=words)
            elif mask is None:
                # The memory is the samples' own, and pandas may write to its columns.
                columns[name] = values.copy()
            elif values.dtype.kind == "i":
                columns[name] = pandas.arrays.IntegerArray(values.astype("int64"), mask)
            else:
                columns[name] = numpy.where(mask, numpy.nan, values)
        return pandas.DataFrame(columns)

    def to_polars(self) -> Any:
        """A polars DataFrame. Needs polars 1.3 or later."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """A pyarrow Table. Needs pyarrow 14 or later."""
        import pyarrow

        return pyarrow.table(self)
