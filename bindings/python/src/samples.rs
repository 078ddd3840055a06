//! Samples as columns, for Arrow and numpy: a million of them never become Python objects.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, StructArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::collections::HashMap;
use std::sync::Arc;
use tarebench::core::base::units::Nanos;
use tarebench::core::run::discards::DiscardReason;
use tarebench::core::run::report::data::RunReport;
use tarebench::core::sample::daemons::TaskKind;
use tarebench::core::sample::data::{Phase, Sample};
use tarebench::core::sample::measure::Measure;

/// Whole numbers; None where absent.
type Cells = Vec<Option<i64>>;

/// Few different texts, by their numbers.
#[derive(Default)]
struct Words {
    known: HashMap<String, i32>,
    all: Vec<String>,
    codes: Vec<Option<i32>>,
}

impl Words {
    fn add(&mut self, word: Option<&str>) {
        let code = word.map(|word| match self.known.get(word) {
            Some(code) => *code,
            None => {
                let code = i32::try_from(self.all.len()).unwrap_or(i32::MAX);
                self.known.insert(word.to_owned(), code);
                self.all.push(word.to_owned());
                code
            }
        });
        self.codes.push(code);
    }

    fn column(self) -> Result<ArrayRef, ArrowError> {
        let codes: Int32Array = self.codes.into_iter().collect();
        let words: ArrayRef = Arc::new(StringArray::from(self.all));
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(codes, words)?))
    }
}

/// A whole number of a sample.
type NumberOf = fn(&Sample) -> Option<i64>;

fn ns(time: Nanos) -> i64 {
    time.0
}

fn whole(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

fn daemons(sample: &Sample) -> Option<i64> {
    let others = sample.daemons.value()?.list.iter().filter(|d| d.kind != TaskKind::Tare);
    Some(others.map(|d| d.cpu).sum::<Nanos>().0)
}

/// The columns of whole numbers, by the names that the command's CSV has for them.
const NUMBERS: [(&str, NumberOf); 24] = [
    ("series", |s| Some(i64::from(s.series))),
    ("index", |s| Some(i64::from(s.index))),
    ("seq", |s| Some(i64::from(s.seq))),
    ("wall_clock_ns", |s| Some(s.wall_clock.0)),
    ("start_monotonic_ns", |s| Some(s.start.monotonic.0)),
    ("end_monotonic_ns", |s| Some(s.end.monotonic.0)),
    ("exit_code", |s| s.outcome.shell_code().map(i64::from)),
    ("et_ns", |s| Some(s.elapsed().0)),
    ("pt_ns", |s| s.process_time().ok().map(ns)),
    ("net_ns", |s| s.net_time().ok().map(ns)),
    ("user_ns", |s| s.process_times.value()?.split().map(|c| c.user.0)),
    ("system_ns", |s| s.process_times.value()?.split().map(|c| c.system.0)),
    ("peak_memory_byte", |s| whole(*s.peak_memory.value()?)),
    ("minor_faults", |s| whole(s.usage.value()?.minor_faults)),
    ("major_faults", |s| whole(s.usage.value()?.major_faults)),
    ("voluntary_switches", |s| whole(s.usage.value()?.voluntary_switches)),
    ("involuntary_switches", |s| whole(s.usage.value()?.involuntary_switches)),
    ("daemons_ns", daemons),
    ("tare_ns", |s| Some(s.own.cpu.0)),
    ("steal_ns", |s| s.steal.value().map(|t| t.0)),
    ("launch_ns", |s| s.launch().map(ns)),
    ("reap_ns", |s| s.reap().map(ns)),
    ("unattributed_ns", |s| s.unattributed().map(ns)),
    ("paused_ns", |s| Some(s.probes.value()?.gate.as_ref()?.paused.0)),
];

const DISCARDS: [(&str, Measure); 3] =
    [("pt_discarded", Measure::Pt), ("et_discarded", Measure::Et), ("net_discarded", Measure::Net)];

/// Collects samples, one at a time.
pub struct SampleColumns<'a> {
    report: &'a RunReport,
    /// Why samples were discarded, by series, number and measure.
    discards: HashMap<(u32, u32, Measure), &'static str>,
    commands: Words,
    phases: Words,
    outcomes: Words,
    numbers: Vec<Cells>,
    discarded: Vec<Words>,
    /// By name, in the order of the plan.
    metrics: Vec<(String, Vec<Option<f64>>)>,
}

impl<'a> SampleColumns<'a> {
    /// Without a sample yet.
    pub fn new(report: &'a RunReport) -> SampleColumns<'a> {
        let all = (0..).zip(&report.series).flat_map(|(series, s)| s.discards.iter().map(move |d| (series, d)));
        let reason = |why: &DiscardReason| match why {
            DiscardReason::Cutoff { .. } => "cutoff",
            DiscardReason::Effect { .. } => "effect",
            DiscardReason::Sigma { .. } => "sigma",
        };
        SampleColumns {
            report,
            discards: all.map(|(series, d)| ((series, d.index, d.measure), reason(&d.reason))).collect(),
            commands: Words::default(),
            phases: Words::default(),
            outcomes: Words::default(),
            numbers: NUMBERS.iter().map(|_| Cells::new()).collect(),
            discarded: DISCARDS.iter().map(|_| Words::default()).collect(),
            metrics: report.run.plan.metrics.iter().map(|m| (m.name.clone(), Vec::new())).collect(),
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        let series = self.report.series.get(sample.series as usize);
        self.commands.add(series.map(|s| s.program.label.as_str()));
        let counted = sample.phase == Phase::Counted;
        self.phases.add(Some(if counted { "counted" } else { "warmup" }));
        self.outcomes.add(Some(&sample.outcome.to_string()));
        for (column, (_, number)) in self.numbers.iter_mut().zip(&NUMBERS) {
            column.push(number(sample));
        }
        for (column, (_, measure)) in self.discarded.iter_mut().zip(&DISCARDS) {
            let why = self.discards.get(&(sample.series, sample.index, *measure)).copied();
            column.add(why.filter(|_| counted));
        }
        for (name, column) in &mut self.metrics {
            column.push(sample.metrics.iter().find(|m| m.name == *name).and_then(|m| m.number()));
        }
    }

    /// All that were added, by their position in the run.
    ///
    /// # Errors
    /// Arrow's; none is expected.
    pub fn finish(self) -> Result<Samples, ArrowError> {
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("command".to_owned(), self.commands.column()?),
            ("phase".to_owned(), self.phases.column()?),
            ("outcome".to_owned(), self.outcomes.column()?),
        ];
        for ((name, _), cells) in NUMBERS.iter().zip(self.numbers) {
            columns.push(((*name).to_owned(), Arc::new(Int64Array::from(cells))));
        }
        for ((name, _), words) in DISCARDS.iter().zip(self.discarded) {
            columns.push(((*name).to_owned(), words.column()?));
        }
        for (name, cells) in self.metrics {
            columns.push((format!("metric_{name}"), Arc::new(Float64Array::from(cells))));
        }
        let field = |(name, column): &(String, ArrayRef)| Field::new(name, column.data_type().clone(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>()));
        let batch = RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect())?;
        Ok(Samples { batch })
    }
}

/// Samples of a run: columns of one length. Exports itself by the Arrow PyCapsule protocol.
#[pyclass(frozen, module = "tarebench._native")]
pub struct Samples {
    batch: RecordBatch,
}

fn arrow(e: ArrowError) -> PyErr {
    PyValueError::new_err(e.to_string())
}

impl Samples {
    fn named(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

fn bytes<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}

#[pymethods]
impl Samples {
    /// Number of samples.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column as memory: its kind ("int64", "float64" or "text"), the values in the machine's byte order (of text: int32 numbers of
    /// words), a byte for each value that is 1 where it is known (None if all are), and the words (None of numbers). Unknown values
    /// have any bytes.
    #[allow(clippy::type_complexity, reason = "a tuple for Python")]
    fn memory<'py>(
        &self,
        py: Python<'py>,
        name: String,
    ) -> PyResult<(&'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Option<Vec<String>>)> {
        let column = self.named(&name)?;
        let known = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let known = known.map(|nulls| nulls.iter().map(u8::from).collect::<Vec<u8>>());
        let known = known.map(|known| PyBytes::new(py, &known));
        if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
            let values = bytes(numbers.values().iter().map(|v| v.to_ne_bytes()));
            return Ok(("int64", PyBytes::new(py, &values), known, None));
        }
        if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
            let values = bytes(numbers.values().iter().map(|v| v.to_ne_bytes()));
            return Ok(("float64", PyBytes::new(py, &values), known, None));
        }
        let text = column.as_dictionary_opt::<Int32Type>();
        let words = text.and_then(|text| text.values().as_string_opt::<i32>());
        let Some((text, words)) = text.zip(words) else {
            return Err(PyValueError::new_err(format!("the column {name} has an unexpected type")));
        };
        let codes = bytes(text.keys().values().iter().map(|v| v.to_ne_bytes()));
        let words = words.iter().flatten().map(str::to_owned).collect();
        Ok(("text", PyBytes::new(py, &codes), known, Some(words)))
    }

    /// Arrow's schema, as a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&**self.batch.schema_ref()).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The samples as one struct array: capsules of schema and array. Another schema may not be requested: it is ignored, as the
    /// protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let (array, schema) = to_ffi(&StructArray::from(self.batch.clone()).to_data()).map_err(arrow)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The samples as a stream of one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
