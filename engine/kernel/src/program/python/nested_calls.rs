//! The limit of nested calls: what the hooks add between two calls of a program does not count.
//!
//! While a hook calls code of the model, the interpreter's limit is higher by the calls that the hook takes itself. So
//! a recursion gets as deep as it does without the checker. CPython 3.11 counts all calls, later versions those of code
//! in Python; their other limit, of nested calls in C, is fixed.

use std::sync::atomic::{AtomicI32, Ordering};

use pyo3::exceptions::PyRecursionError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::host::Host;
use super::own_modules::OwnModule;

/// So many nested calls does it take, at most, to record a step.
const NESTED_CALLS: u32 = 80;
/// So many calls the recorder gets where the model has used up those that it has.
const MORE_CALLS: i32 = 1000;

/// By how many calls the limit is higher than what the model knows.
pub struct UncountedCalls {
    now: AtomicI32,
    /// The nested calls below the model's.
    made_before: AtomicI32,
    counts_calls_in_c: bool,
}

impl UncountedCalls {
    pub fn of_interpreter(py: Python<'_>) -> UncountedCalls {
        UncountedCalls {
            now: AtomicI32::new(0),
            made_before: AtomicI32::new(0),
            counts_calls_in_c: py.version_info() < (3, 12),
        }
    }

    /// The calls below an execution's, which do not count either.
    pub fn made_before(&self) -> i32 {
        self.made_before.load(Ordering::Relaxed)
    }
}

/// Raise the interpreter's limit by so many calls, or lower it.
fn move_limit(_py: Python<'_>, calls: i32) {
    // SAFETY: the interpreter is held, and the limit is a number of its own.
    unsafe { ffi::Py_SetRecursionLimit(ffi::Py_GetRecursionLimit() + calls) }
}

/// The nested calls in C that it takes to call a function through an object of the kernel, beyond those that the
/// interpreter takes by itself: it enters many functions in C without any.
pub fn calls_added_to(function: &Bound<'_, PyAny>) -> i32 {
    if !function.is_exact_instance_of::<PyCFunction>() {
        return 1;
    }
    // SAFETY: it is a function in C.
    let flags = unsafe { ffi::PyCFunction_GetFlags(function.as_ptr()) };
    if flags & ffi::METH_FASTCALL == 0 {
        1
    } else {
        2
    }
}

impl Host {
    /// Note how many calls there are where an exploration begins.
    pub fn note_calls_made(&self, py: Python<'_>) -> PyResult<()> {
        let made = OwnModule::Headroom.get(py)?.call_method0(intern!(py, "calls_made"))?.extract()?;
        self.uncounted.made_before.store(made, Ordering::Relaxed);
        Ok(())
    }

    /// Do what makes a call of the model's, from a hook whose own calls in C are so many.
    #[inline]
    pub fn uncounted_in_c<T>(&self, py: Python<'_>, calls: i32, go: impl FnOnce() -> T) -> T {
        if !self.uncounted.counts_calls_in_c {
            return go();
        }
        self.do_not_count(py, calls);
        let result = go();
        self.do_not_count(py, -calls);
        result
    }
}

/// Call the recorder where the model may have used up the calls that can be nested: it must not run out of them in the
/// place of the model.
pub fn with_headroom<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let headroom = OwnModule::Headroom.get(py);
    match headroom.and_then(|headroom| headroom.call_method1(intern!(py, "descend"), (NESTED_CALLS,))) {
        Err(error) if error.is_instance_of::<PyRecursionError>(py) => {}
        _ => return call(),
    }
    move_limit(py, MORE_CALLS);
    let result = call();
    move_limit(py, -MORE_CALLS);
    result
}

/// Go one call deeper, as the interpreter does. Raises RecursionError where it does.
pub fn deeper<T>(py: Python<'_>, go: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // SAFETY: the interpreter is held, and each entry that succeeds is left.
    if unsafe { ffi::Py_EnterRecursiveCall(c" while calling a Python object".as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let result = go();
    // SAFETY: as above.
    unsafe { ffi::Py_LeaveRecursiveCall() };
    result
}

#[pymethods]
impl Host {
    /// Have so many nested calls not count, until it is called with as many less than none.
    pub fn do_not_count(&self, py: Python<'_>, calls: i32) {
        self.uncounted.now.fetch_add(calls, Ordering::Relaxed);
        move_limit(py, calls);
    }

    /// The calls that do not count at the moment: the interpreter's limit is higher by them than the model's.
    fn uncounted_calls(&self) -> i32 {
        self.uncounted.now.load(Ordering::Relaxed)
    }
}
