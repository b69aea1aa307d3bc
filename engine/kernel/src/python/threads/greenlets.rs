//! Switching between greenlets, through the C interface that the `greenlet` package offers as a capsule.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::python::calls::entered_code::apart;

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

/// The greenlets that run nothing now.
#[derive(Default)]
pub struct GreenletPool {
    /// Those whose thread has ended, ready to run another.
    pub idle: Vec<Greenlet>,
    /// The one that explores; it has control between executions.
    pub hub: Option<Greenlet>,
    /// Whether the host is done with its model.
    pub closing: bool,
}

impl GreenletPool {
    pub fn hub(&self, py: Python<'_>) -> Option<Greenlet> {
        self.hub.as_ref().map(|hub| hub.clone_ref(py))
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
        let shown = Shown::of_thread(py)?;
        apart(py, || match shown {
            Some(shown) => self.switch_while_showing(py, target, shown),
            None => self.switch_plainly(py, target),
        })
    }

    /// What this leaves on the stack is copied at each switch.
    #[inline]
    fn switch_plainly(&self, py: Python<'_>, target: &Greenlet) -> PyResult<()> {
        // SAFETY: the reference is valid for the call; no borrow of the host's state is held here (`Host::switch_to`).
        unsafe {
            let result = (self.switch)(target.0.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, result).map(drop)
        }
    }

    #[cold]
    #[inline(never)]
    fn switch_while_showing(&self, py: Python<'_>, target: &Greenlet, shown: Shown<'_>) -> PyResult<()> {
        let objects = shown.take()?;
        let result = self.switch_plainly(py, target);
        shown.put_back(&objects)?;
        result
    }
}

/// The objects that the running greenlet is turning into text. CPython keeps them for each of its own threads, to show
/// `[...]` for an object that holds itself; greenlets share one.
struct Shown<'py>(Bound<'py, PyList>);

impl<'py> Shown<'py> {
    /// The list of them, if there are any.
    #[inline(never)]
    fn of_thread(py: Python<'py>) -> PyResult<Option<Shown<'py>>> {
        // SAFETY: returns a borrowed reference to a dict, or null if there is none.
        let of_thread = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyThreadState_GetDict()) };
        let Some(of_thread) = of_thread else { return Ok(None) };
        let found = of_thread.cast_into::<PyDict>()?.get_item(intern!(py, "Py_Repr"))?;
        Ok(found.and_then(|list| list.cast_into::<PyList>().ok()).filter(|list| !list.is_empty()).map(Shown))
    }

    fn take(&self) -> PyResult<Bound<'py, PyList>> {
        let Shown(list) = self;
        let objects = list.get_slice(0, list.len());
        list.del_slice(0, list.len())?;
        Ok(objects)
    }

    fn put_back(&self, objects: &Bound<'py, PyList>) -> PyResult<()> {
        let Shown(list) = self;
        list.set_slice(0, list.len(), objects)
    }
}
