//! Switching between greenlets, through the C interface that the `greenlet` package offers as a capsule.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

type SwitchFunction =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
type NewFunction = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
type CurrentFunction = unsafe extern "C" fn() -> *mut ffi::PyObject;

/// Positions in the capsule's table, fixed by greenlet.h.
const NEW: usize = 3;
const GET_CURRENT: usize = 4;
const SWITCH: usize = 6;

/// The functions of the C interface.
#[derive(Clone, Copy)]
pub struct GreenletApi {
    new: NewFunction,
    current: CurrentFunction,
    switch: SwitchFunction,
}

/// A greenlet of the interpreter's thread.
pub struct Greenlet(Py<PyAny>);

impl Greenlet {
    pub fn clone_ref(&self, py: Python<'_>) -> Greenlet {
        Greenlet(self.0.clone_ref(py))
    }
}

impl GreenletApi {
    /// Find the interface. Raises ImportError if greenlet is missing.
    pub fn load(py: Python<'_>) -> PyResult<GreenletApi> {
        py.import("greenlet")?;
        // SAFETY: the capsule's name is checked by PyCapsule_Import; its table is documented in greenlet.h.
        unsafe {
            let table = ffi::PyCapsule_Import(c"greenlet._C_API".as_ptr(), 0) as *const *const ();
            if table.is_null() {
                return Err(
                    PyErr::take(py).unwrap_or_else(|| PyImportError::new_err("greenlet offers no C interface"))
                );
            }
            Ok(GreenletApi {
                new: std::mem::transmute::<*const (), NewFunction>(*table.add(NEW)),
                current: std::mem::transmute::<*const (), CurrentFunction>(*table.add(GET_CURRENT)),
                switch: std::mem::transmute::<*const (), SwitchFunction>(*table.add(SWITCH)),
            })
        }
    }

    pub fn current(&self, py: Python<'_>) -> PyResult<Greenlet> {
        // SAFETY: returns a new reference or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.current)()).map(|object| Greenlet(object.unbind())) }
    }

    /// A greenlet that will call `run` without arguments and give control to `parent` when it returns.
    pub fn create(&self, py: Python<'_>, run: &Bound<'_, PyAny>, parent: &Greenlet) -> PyResult<Greenlet> {
        // SAFETY: both references are valid; the function borrows them and returns a new reference or null.
        unsafe {
            Bound::from_owned_ptr_or_err(py, (self.new)(run.as_ptr(), parent.0.as_ptr()))
                .map(|object| Greenlet(object.unbind()))
        }
    }

    /// Run `target` until somebody switches back. An exception that is thrown into this greenlet is returned.
    #[inline]
    pub fn switch(&self, py: Python<'_>, target: &Greenlet) -> PyResult<()> {
        // SAFETY: the reference is valid for the call; no borrow of the host's state is held here (`Host::switch_to`).
        unsafe {
            let result = (self.switch)(target.0.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, result).map(drop)
        }
    }
}
