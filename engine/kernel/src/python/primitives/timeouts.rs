//! Time limits as CPython takes them. What is no ordinary number of seconds is given to a real lock, whose errors are
//! those of the running version.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::python::threads::own_modules::OwnModule;

/// No platform has a smaller `threading.TIMEOUT_MAX`.
const ALWAYS_ALLOWED: f64 = 4_294_967.0;

fn ordinary(timeout: &Bound<'_, PyAny>) -> Option<f64> {
    if !timeout.is_exact_instance_of::<PyFloat>() && !timeout.is_exact_instance_of::<PyInt>() {
        return None;
    }
    timeout.extract::<f64>().ok().filter(|seconds| (0.0..=ALWAYS_ALLOWED).contains(seconds))
}

fn asked(timeout: &Bound<'_, PyAny>, function: &str, blocking: bool) -> PyResult<f64> {
    OwnModule::Timeouts.get(timeout.py())?.call_method1(function, (timeout, blocking))?.extract()
}

/// The time-out of `Lock.acquire`, in seconds, or None for none, which `-1` means.
pub fn of_lock(timeout: Option<&Bound<'_, PyAny>>, blocking: bool) -> PyResult<Option<f64>> {
    let Some(timeout) = timeout else { return Ok(None) };
    match ordinary(timeout) {
        Some(seconds) if blocking => Ok(Some(seconds)),
        _ => Ok(Some(asked(timeout, "of_lock", blocking)?).filter(|seconds| *seconds >= 0.0)),
    }
}

/// The time-out of a wait that takes a lock if there is time left: `Condition.wait` and what is built on it.
pub fn of_wait(timeout: &Bound<'_, PyAny>) -> PyResult<f64> {
    ordinary(timeout).map_or_else(|| asked(timeout, "of_wait", true), Ok)
}

/// The time-out of `SimpleQueue.get`.
pub fn of_queue(timeout: &Bound<'_, PyAny>) -> PyResult<f64> {
    ordinary(timeout).map_or_else(|| asked(timeout, "of_queue", true), Ok)
}
