//! The checker's modules in Python that the kernel calls.
//!
//! They are imported before a model runs: an import in the middle of one would look for files through what stands in
//! for the system's functions, which may need such a module again.

use pyo3::intern;
use pyo3::prelude::*;

#[derive(Clone, Copy)]
pub enum OwnModule {
    Current,
    Factories,
    Formatting,
    Headroom,
    Hooks,
    StoredAttributes,
    Thread,
    ThreadBound,
    ThreadFunctions,
    Timeouts,
    Uncontrolled,
    UnseenCalls,
}

impl OwnModule {
    const ALL: [OwnModule; 12] = [
        OwnModule::Current,
        OwnModule::Factories,
        OwnModule::Formatting,
        OwnModule::Headroom,
        OwnModule::Hooks,
        OwnModule::StoredAttributes,
        OwnModule::Thread,
        OwnModule::ThreadBound,
        OwnModule::ThreadFunctions,
        OwnModule::Timeouts,
        OwnModule::Uncontrolled,
        OwnModule::UnseenCalls,
    ];

    /// Import all of them. Raises what the import of one raises.
    pub fn import_all(py: Python<'_>) -> PyResult<()> {
        OwnModule::ALL.iter().try_for_each(|module| module.get(py).map(drop))
    }

    pub fn get(self, py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
        py.import(match self {
            OwnModule::Current => intern!(py, "dpor.runtime.current"),
            OwnModule::Factories => intern!(py, "dpor.runtime.factories"),
            OwnModule::Formatting => intern!(py, "dpor.runtime.formatting"),
            OwnModule::Headroom => intern!(py, "dpor.counterexample.headroom"),
            OwnModule::Hooks => intern!(py, "dpor.instrument.hooks"),
            OwnModule::StoredAttributes => intern!(py, "dpor.instrument.stored_attributes"),
            OwnModule::Thread => intern!(py, "dpor.runtime.thread"),
            OwnModule::ThreadBound => intern!(py, "dpor.runtime.thread_bound"),
            OwnModule::ThreadFunctions => intern!(py, "dpor.runtime.thread_functions"),
            OwnModule::Timeouts => intern!(py, "dpor.runtime.timeouts"),
            OwnModule::Uncontrolled => intern!(py, "dpor.runtime.uncontrolled"),
            OwnModule::UnseenCalls => intern!(py, "dpor.runtime.unseen_calls"),
        })
    }
}
