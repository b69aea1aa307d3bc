//! Counters of modules, `itertools.count`, which number connections, requests and the like: what an execution takes of
//! one is put back in place.
//!
//! A counter cannot be set from Python, and a copy would be another object. It keeps the number that comes next in its
//! first field (`countobject` in `itertoolsmodule.c`). That this holds is tried on a counter of our own first; where it
//! does not, modules with counters are loaded afresh for each execution.

use std::mem::size_of;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A number that no other field of a counter has by chance.
const PROBE: isize = 0x5a17_3c2b;

/// The class, if its objects keep the number where it is taken to be.
fn known_class(py: Python<'_>) -> Option<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Option<Py<PyType>>> = PyOnceLock::new();
    let known = CLASS.get_or_init(py, || {
        let class = py.import("itertools").ok()?.getattr("count").ok()?.cast_into::<PyType>().ok()?;
        let size: usize = class.getattr("__basicsize__").ok()?.extract().ok()?;
        if size < size_of::<ffi::PyObject>() + size_of::<isize>() {
            return None;
        }
        let counter = class.call1((PROBE,)).ok()?;
        let next = || counter.call_method0(intern!(py, "__next__")).ok()?.extract::<isize>().ok();
        // SAFETY: the object is as large as the field requires.
        let right = unsafe {
            let field = field(&counter);
            let right = field.read() == PROBE && next()? == PROBE && field.read() == PROBE + 1;
            right && {
                field.write(PROBE + 7);
                next()? == PROBE + 7
            }
        };
        right.then(|| class.unbind())
    });
    known.as_ref().map(|class| class.bind(py))
}

/// The first field of an object. It may be read and written if the object has one of this type.
fn field(counter: &Bound<'_, PyAny>) -> *mut isize {
    counter.as_ptr().cast::<u8>().wrapping_add(size_of::<ffi::PyObject>()).cast()
}

/// A counter, and the number that comes next in it.
pub struct Counter {
    counter: Py<PyAny>,
    next: isize,
}

impl Counter {
    /// Whether the object is a counter, of whatever kind.
    pub fn is_one(object: &Bound<'_, PyAny>) -> bool {
        known_class(object.py()).is_some_and(|class| object.get_type().is(class))
    }

    /// The counter as it is; None if the object is none, or not one that counts small integers one by one.
    pub fn of(object: &Bound<'_, PyAny>) -> Option<Counter> {
        if !Counter::is_one(object) {
            return None;
        }
        // SAFETY: the object is a counter, which has the field.
        let next = unsafe { field(object).read() };
        // Another kind of counter keeps its number elsewhere, and tells a step.
        let told = object.repr().ok()?.to_string();
        let counts_up = next != isize::MAX && told == format!("count({next})");
        counts_up.then(|| Counter { counter: object.clone().unbind(), next })
    }

    pub fn put_back(&self, py: Python<'_>) {
        // SAFETY: as above.
        unsafe { field(self.counter.bind(py)).write(self.next) };
    }
}
