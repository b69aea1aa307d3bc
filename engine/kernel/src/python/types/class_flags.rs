//! What the interpreter keeps of a class in its flags (`Py_TPFLAGS_...` in CPython's `object.h`).
//!
//! They are read from the class itself: `__flags__` could be an attribute that code of the model gives.

use std::os::raw::c_ulong;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

const IMMUTABLE: c_ulong = 1 << 8;
const HEAP: c_ulong = 1 << 9;
const READY: c_ulong = 1 << 12;
const BECOMING_READY: c_ulong = 1 << 13;
const TELLS_REFERENTS: c_ulong = 1 << 14;

fn has(class: &Bound<'_, PyType>, flag: c_ulong) -> bool {
    // SAFETY: the class is valid.
    unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) & flag != 0 }
}

/// Whether the class was made while the program ran: by a `class` statement, or by a module in C.
pub fn is_made_at_run_time(class: &Bound<'_, PyType>) -> bool {
    has(class, HEAP)
}

/// Whether no attribute of the class can be set.
pub fn is_immutable_class(class: &Bound<'_, PyType>) -> bool {
    has(class, IMMUTABLE)
}

/// Whether the garbage collector is told what instances of the class hold.
pub fn tells_referents(class: &Bound<'_, PyType>) -> bool {
    has(class, TELLS_REFERENTS)
}

/// Whether the interpreter has yet to fill in a class of its own, as it does when it first looks an attribute up in
/// one.
pub fn is_unfilled(class: &Bound<'_, PyType>) -> bool {
    !has(class, READY) && !has(class, BECOMING_READY) && !is_made_at_run_time(class)
}
