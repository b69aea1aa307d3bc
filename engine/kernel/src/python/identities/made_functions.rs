//! Functions and classes that an execution has made, each of which is an object of its own: those that one definition
//! makes in two threads (`@functools.wraps(f) def wrapper(...)`) share no attributes. Others are told apart by their
//! definitions.
//!
//! A function is not kept alive for it, because it keeps alive what it refers to.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::operation::ThreadId;
use crate::python::host::{report_uncontrolled, Host};
use crate::python::identities::identity::{object_number, KeyId, ObjectId};
use crate::python::modules::namespaces::is_instrumented_namespace;
use crate::python::state::State;

/// By address: the function, the thread that made it, and how many it had made before.
#[derive(Default)]
pub struct MadeFunctions {
    made: FxHashMap<usize, (Py<PyWeakrefReference>, ThreadId, u32)>,
    counts: FxHashMap<ThreadId, u32>,
}

impl MadeFunctions {
    pub fn forget(&mut self) {
        self.made.clear();
        self.counts.clear();
    }

    fn note(&mut self, function: &Bound<'_, PyAny>, creator: ThreadId) -> PyResult<()> {
        let reference = PyWeakrefReference::new(function)?.unbind();
        let count = self.counts.entry(creator).or_default();
        self.made.insert(function.as_ptr() as usize, (reference, creator, *count));
        *count += 1;
        Ok(())
    }

    fn find(&self, function: &Bound<'_, PyAny>) -> Option<(ThreadId, u32)> {
        let (reference, creator, number) = self.made.get(&(function.as_ptr() as usize))?;
        // Another object may have got the address since.
        let same = reference.bind(function.py()).upgrade().is_some_and(|alive| alive.is(function));
        same.then_some((*creator, *number))
    }
}

impl State {
    /// The identity of a function that the running execution has made; None for others.
    pub fn made_function(&mut self, function: &Bound<'_, PyAny>, token: u32) -> Option<ObjectId> {
        let (creator, number) = self.objects.functions.find(function)?;
        let parent = self.identities.thread_object(creator);
        Some(self.identities.part(parent, KeyId::index(number as usize), token))
    }

    /// What `id` gives for a function or class that the running execution has made, whichever address it has got; None
    /// for others.
    pub fn number_of_made(&self, object: &Bound<'_, PyAny>) -> Option<u64> {
        let (creator, number) = self.objects.functions.find(object)?;
        Some(object_number(&(self.identities.path(creator), "made by a definition", number)))
    }
}

#[pymethods]
impl Host {
    /// A function or class has just been made by a definition.
    #[pyo3(signature = (made, /))]
    fn defined<'py>(&self, made: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(mut state) = self.awake() else { return Ok(made) };
        if state.running() && (made.is_exact_instance_of::<PyFunction>() || made.is_instance_of::<PyType>()) {
            let creator = state.actor();
            state.objects.functions.note(&made, creator)?;
        }
        drop(state);
        Ok(made)
    }
}

impl Host {
    /// A class has made an object: a function of instrumented code has to be in the module whose hooks the code uses,
    /// where its variables are.
    pub fn require_own_variables(&self, made: &Bound<'_, PyAny>) -> PyResult<()> {
        if !made.is_exact_instance_of::<PyFunction>() || !self.state().running() {
            return Ok(());
        }
        let py = made.py();
        let names =
            made.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_names"))?.extract::<Vec<String>>()?;
        let namespace = made.getattr(intern!(py, "__globals__"))?.cast_into::<PyDict>()?;
        match is_instrumented_namespace(&namespace) || !names.iter().any(|name| name.starts_with("__dpor_")) {
            true => Ok(()),
            false => report_uncontrolled(py, "makes a function of its own code with the variables of another dict"),
        }
    }
}
