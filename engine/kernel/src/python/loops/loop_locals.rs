//! The local variables at the head of a loop, kept to be compared with those of the next time.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyWeakrefMethods, PyWeakrefReference};

/// What temporaries of the instrumentation begin with; they are no state of the loop.
const TEMPORARY: &str = "__dpor_";

/// A local variable's value: whether it is the same later is asked without keeping alive what may have a destructor.
pub enum Kept {
    Value(Py<PyAny>),
    Weak(Py<PyWeakrefReference>),
}

/// The local variables of a frame at one moment.
pub type Locals = Vec<(Py<PyAny>, Kept)>;

/// The local variables of the Python function that is being executed.
pub fn locals(py: Python<'_>) -> PyResult<Locals> {
    // SAFETY: returns a borrowed reference to the running frame, or null if none runs; it is taken over at once.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let Some(frame) = frame else { return Ok(Locals::new()) };
    let named = PyDict::new(py);
    // Without asking for its class, for which code in Python runs: there may be no room for more frames.
    named.call_method1(intern!(py, "update"), (frame.getattr(intern!(py, "f_locals"))?,))?;
    let mut kept = Locals::with_capacity(named.len());
    for (name, value) in named.iter() {
        if is_temporary(&name) {
            continue;
        }
        let value = match is_plain(&value) {
            true => Kept::Value(value.unbind()),
            // What takes no weak reference has no destructor written in Python.
            false => match PyWeakrefReference::new(&value) {
                Ok(weak) => Kept::Weak(weak.unbind()),
                Err(_) => Kept::Value(value.unbind()),
            },
        };
        kept.push((name.unbind(), value));
    }
    Ok(kept)
}

/// Whether two sets of local variables are the same state: the same objects, or equal plain values.
pub fn same_state(py: Python<'_>, before: &Locals, now: &Locals) -> PyResult<bool> {
    if before.len() != now.len() {
        return Ok(false);
    }
    for ((old_name, old), (name, new)) in before.iter().zip(now) {
        let same = match (old, new) {
            (Kept::Value(old), Kept::Value(new)) => same_value(old.bind(py), new.bind(py))?,
            (Kept::Weak(old), Kept::Weak(new)) => {
                old.bind(py).upgrade().is_some_and(|old| new.bind(py).upgrade().is_some_and(|new| old.is(&new)))
            }
            _ => false,
        };
        if !same || !old_name.bind(py).eq(name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_temporary(name: &Bound<'_, PyAny>) -> bool {
    name.cast::<PyString>().is_ok_and(|name| name.to_str().is_ok_and(|name| name.starts_with(TEMPORARY)))
}

/// Whether a value is one of the types whose values are the same if they are equal.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBytes>()
}

/// Whether two values are the same object, or equal plain values.
pub fn same_value(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(first.is(second) || is_plain(first) && first.get_type().is(second.get_type()) && first.eq(second)?)
}
