//! Whether the order of a set's items depends on the order in which they were added.
//!
//! CPython's sets are tables in which an item has the place that its hash says, or, if another one has that, a place
//! after it. So the order of the items depends on that of the insertions only where two of them want one place, or an
//! item has been removed that may have had the place of another.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PySet, PyString, PyTuple};
use rustc_hash::FxHashSet;

use crate::python::calls::entered_code::without_code;
use crate::python::types::kinds::has_numbered_instances;

/// The places of CPython's smallest table, and what one of a larger table takes: a pointer and a hash.
const LEAST_PLACES: isize = 8;
const BYTES_OF_A_PLACE: isize = 2 * size_of::<usize>() as isize;

/// Whether two items of a set may want one place in its table, so that the one that was added first has it. The size of
/// the table depends on how many were added alone, as long as none is removed.
pub fn has_collisions(object: &Bound<'_, PyAny>) -> bool {
    let Ok(set) = object.cast::<PySet>() else { return false };
    places_are_shared(set).unwrap_or(true)
}

fn places_are_shared(set: &Bound<'_, PySet>) -> PyResult<bool> {
    let py = set.py();
    let places = table_size(set)?;
    let mut taken = FxHashSet::default();
    // Not by the methods of a subclass, nor by those of items: these may be code of the model. The hash of what else is
    // told apart by its identity is an address, and so is its place.
    for item in py.get_type::<PySet>().call_method1("__iter__", (set,))?.try_iter()? {
        let item = item?;
        if has_builtin_hash(&item) || has_numbered_instances(&item.get_type()) {
            let hash = without_code(py, || item.hash())?;
            if !taken.insert(hash.rem_euclid(places)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// How many places the table of a set has: those that are part of the object itself, or as many as its size says.
fn table_size(set: &Bound<'_, PySet>) -> PyResult<isize> {
    let class = set.py().get_type::<PySet>();
    let size = |set: &Bound<'_, PySet>| class.call_method1("__sizeof__", (set,))?.extract::<isize>();
    match size(set)? - size(&PySet::empty(set.py())?)? {
        more if more > 0 => Ok((more / BYTES_OF_A_PLACE).max(1)),
        _ => Ok(LEAST_PLACES),
    }
}

fn has_builtin_hash(item: &Bound<'_, PyAny>) -> bool {
    item.is_exact_instance_of::<PyInt>()
        || item.is_exact_instance_of::<PyString>()
        || item.is_exact_instance_of::<PyBytes>()
        || item.is_exact_instance_of::<PyFloat>()
        || item.is_exact_instance_of::<PyBool>()
        || item.is_exact_instance_of::<PyTuple>()
}
