//! What built-in code does with what code that it calls gives it: the value of a key function, an item of a generator.
//!
//! Such a value is nowhere but in the C code that got it, so no object tells of it. `sum` adds the items of a
//! generator, `sorted` compares what its key function returned when it has all of it, and `chain` runs over what it
//! gets. What is not known to leave the values as they are reads them as deep as what it was given at its begin.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::python::footprints::behind_iterators::{calls_back, calls_native_code, is_of_container};
use crate::python::footprints::look::{Depth, Inside, Look};
use crate::python::footprints::whole_reads::reading_effect;
use crate::python::state::State;
use crate::python::types::kinds::TypeKind;

/// A value that code which was called back gives.
#[derive(Clone, Copy)]
pub struct CallbackResult<'a, 'py> {
    pub value: &'a Bound<'py, PyAny>,
    /// Whether it is what the operation runs over from now on: it was asked for an iterator, or for the keys of a
    /// mapping.
    pub is_source: bool,
}

/// What an operation does with the values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultUse {
    /// It does nothing with them, not even with an iterator over what it was given.
    Left,
    /// It keeps them or passes them on, as they are.
    Kept,
    /// It reads each of them before it goes on.
    ReadAtOnce(Depth),
    /// It may read all of them as long as it lasts.
    Read(Depth),
    /// It may change them.
    Written,
}

impl ResultUse {
    /// Whether it does nothing with a value after code is called again.
    pub fn forgets(self) -> bool {
        matches!(self, ResultUse::Left | ResultUse::Kept | ResultUse::ReadAtOnce(_))
    }

    fn depth(self) -> Option<Depth> {
        match self {
            ResultUse::Left | ResultUse::Kept => None,
            ResultUse::ReadAtOnce(depth) | ResultUse::Read(depth) => Some(depth),
            ResultUse::Written => Some(Depth::Everything),
        }
    }
}

/// The values that an operation reads, and how deep; if at None, then only as the iterators do that it advances.
#[derive(Clone, Copy)]
pub struct Results<'a, 'py> {
    pub values: &'a [Bound<'py, PyAny>],
    pub depth: Option<Depth>,
}

impl<'a, 'py> Results<'a, 'py> {
    pub const NONE: Results<'static, 'static> = Results { values: &[], depth: None };

    pub fn of(values: &'a [Bound<'py, PyAny>], used: ResultUse) -> Results<'a, 'py> {
        Results { values, depth: used.depth() }
    }
}

/// How deep the iterators that an operation advances read what code that they call gives.
#[derive(Clone, Copy, Default)]
pub struct ResultsRead {
    depth: Option<Depth>,
    /// Whether one of them runs over each value, so that what is read by others may be in the values.
    runs_over: bool,
}

impl ResultsRead {
    /// Add an iterator, which advances those before it or is advanced by them.
    pub fn add(&mut self, iterator: &Bound<'_, PyAny>) {
        self.runs_over |= iterator.get_type().name().is_ok_and(|name| name == "chain");
        self.depth = self.and_also(read_by_iterator(iterator));
    }

    /// How deep the values are read if something else reads what these iterators give or get.
    fn and_also(self, other: Option<Depth>) -> Option<Depth> {
        match (self.depth, other) {
            (Some(_), Some(_)) if self.runs_over => Some(Depth::Everything),
            (own, other) => own.max(other),
        }
    }
}

impl State {
    /// Note what an operation reads of its results: what it does with them by itself, and what the iterators do that it
    /// advances.
    pub fn look_at_results<'py>(&mut self, look: &mut Look<'py>, results: Results<'_, 'py>) {
        let Some(depth) = look.results_read.and_also(results.depth) else { return };
        look.depth = depth;
        for value in results.values {
            let effect = reading_effect(self.types.facts(value).kind);
            self.look_at(look, value, effect, Inside { deep: depth == Depth::Everything, ..Inside::default() });
        }
    }
}

/// Built-in functions that read what an iterator gives before they ask it for more.
const AT_ONCE: &[&str] = &["all", "any", "sum"];

/// What a built-in function does with the values, which reads its arguments as deep as `depth`.
pub fn used_by_function(function: &Bound<'_, PyAny>, depth: Depth) -> PyResult<ResultUse> {
    let py = function.py();
    if function.is(py.get_type::<PyList>()) || function.is(py.get_type::<PyTuple>()) {
        return Ok(ResultUse::Kept);
    }
    let name = function.getattr_opt(intern!(py, "__name__"))?.and_then(|name| name.extract::<String>().ok());
    Ok(match name.is_some_and(|name| AT_ONCE.contains(&name.as_str())) {
        true => ResultUse::ReadAtOnce(depth),
        false => ResultUse::Read(depth),
    })
}

/// What adding items to a container does with them.
pub fn used_by_adding(kind: TypeKind) -> ResultUse {
    match kind {
        TypeKind::List => ResultUse::Kept,
        _ => ResultUse::Read(Depth::Items),
    }
}

/// How deep an iterator written in C reads what it gets from others, and from functions that it calls; None if it
/// passes that on as it is.
fn read_by_iterator(iterator: &Bound<'_, PyAny>) -> Option<Depth> {
    const PASSING: &[&str] = &[
        "_tee",
        "_tee_dataobject",
        "batched",
        "count",
        "cycle",
        "enumerate",
        "islice",
        "pairwise",
        "repeat",
        "reversed",
        "zip",
        "zip_longest",
    ];
    /// They ask for the truth of an item, or run over it.
    const LOOKING: &[&str] = &["chain", "compress", "dropwhile", "filter", "filterfalse", "takewhile"];
    let Ok(name) = iterator.get_type().name().map(|name| name.to_string()) else { return Some(Depth::Everything) };
    // A container's own gets nothing.
    if is_of_container(iterator) || PASSING.contains(&name.as_str()) || name == "map" && calls_back(iterator) {
        return None;
    }
    match LOOKING.contains(&name.as_str()) && !calls_native_code(iterator) {
        true => Some(Depth::Items),
        false => Some(Depth::Everything),
    }
}
