//! The namespaces of the modules that a check has instrumented, and of those that say only that they run.
//!
//! Nothing in a namespace tells: a program goes through its variables (`globals()`, `vars(module)`, `dir(module)`), and
//! finds those that it has itself. The hooks of its code are among the built-in names.

use std::cell::RefCell;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{ffi, intern};
use rustc_hash::FxHashMap;

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::host::{with_current_host, Host};

struct Entered {
    /// Held, so that its address stands for it.
    _namespace: Py<PyDict>,
    first_party: bool,
}

/// Those of one check, by address.
#[derive(Default)]
pub struct Namespaces {
    instrumented: RefCell<FxHashMap<usize, Entered>>,
    /// Of packages that are not instrumented and of which the report says that their code runs.
    told: RefCell<FxHashMap<usize, Py<PyDict>>>,
}

// SAFETY: they are only reached with the interpreter's lock held, and no borrow spans a call into Python.
unsafe impl Sync for Namespaces {}
// SAFETY: as above; they own everything in them.
unsafe impl Send for Namespaces {}

impl Namespaces {
    fn contain(&self, namespace: &Bound<'_, PyDict>) -> bool {
        self.instrumented.borrow().contains_key(&address(namespace))
    }

    fn are_first_party(&self, namespace: &Bound<'_, PyDict>) -> bool {
        self.instrumented.borrow().get(&address(namespace)).is_some_and(|entered| entered.first_party)
    }

    /// Of all of them it will be said again that they run.
    pub fn forget_told(&self) {
        let told = std::mem::take(&mut *self.told.borrow_mut());
        // What it held may run code when it goes.
        drop(told);
    }
}

fn address(namespace: &Bound<'_, PyDict>) -> usize {
    namespace.as_ptr() as usize
}

/// The namespace of the code that calls a hook. Raises RuntimeError where no code in Python runs.
pub fn namespace_of_caller(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: a borrowed reference, or null.
    let found = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetGlobals()) };
    Ok(found.ok_or_else(|| PyRuntimeError::new_err("no code that has variables calls the hook"))?.cast_into()?)
}

/// The package of a module's code, by the module's namespace.
fn package_of(namespace: &Bound<'_, PyDict>) -> PyResult<String> {
    let name = namespace.get_item(intern!(namespace.py(), "__name__"))?;
    let name = name.and_then(|name| name.extract::<String>().ok()).unwrap_or_else(|| "<string>".to_owned());
    Ok(name.split('.').next().unwrap_or_default().to_owned())
}

/// Whether a dict is the namespace of an instrumented module, rather than a copy of one.
pub fn is_instrumented_namespace(namespace: &Bound<'_, PyDict>) -> bool {
    with_current_host(|host| host.namespaces.contain(namespace)).unwrap_or(false)
}

/// Whether a dict is the namespace of a module that is the user's own.
pub fn is_first_party(namespace: &Bound<'_, PyDict>) -> bool {
    with_current_host(|host| host.namespaces.are_first_party(namespace)).unwrap_or(false)
}

#[pymethods]
impl Host {
    /// Take a dict for the namespace of an instrumented module, which may be the user's own, until it is left.
    #[pyo3(signature = (namespace, first_party, /))]
    fn enter_namespace(&self, namespace: &Bound<'_, PyDict>, first_party: bool) {
        let entered = Entered { _namespace: namespace.clone().unbind(), first_party };
        let replaced = self.namespaces.instrumented.borrow_mut().insert(address(namespace), entered);
        drop(replaced);
    }

    #[pyo3(signature = (namespace, /))]
    fn leave_namespace(&self, namespace: &Bound<'_, PyDict>) {
        let left = self.namespaces.instrumented.borrow_mut().remove(&address(namespace));
        // What it held may run code when it goes.
        drop(left);
    }

    /// What code of a package that is not instrumented calls whenever a function of it begins to run.
    fn entered(&self, py: Python<'_>) -> PyResult<()> {
        let namespace = namespace_of_caller(py)?;
        if self.namespaces.told.borrow().contains_key(&address(&namespace)) {
            return Ok(());
        }
        if self.awake().is_some_and(|state| state.running()) {
            self.assume(py, AssumptionKind::UnseenCode, &package_of(&namespace)?);
            self.namespaces.told.borrow_mut().insert(address(&namespace), namespace.unbind());
        }
        Ok(())
    }

    #[pyo3(signature = (namespace, /))]
    fn is_instrumented(&self, namespace: &Bound<'_, PyDict>) -> bool {
        self.namespaces.contain(namespace)
    }

    #[pyo3(signature = (namespace, /))]
    fn is_first_party(&self, namespace: &Bound<'_, PyDict>) -> bool {
        self.namespaces.are_first_party(namespace)
    }
}
