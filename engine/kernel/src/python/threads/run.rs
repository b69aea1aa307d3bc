//! The running execution: how far it is, what went wrong in it, how it ends.

use pyo3::prelude::*;
use rustc_hash::FxHashSet;

use crate::explorer::End;
use crate::operation::ThreadId;
use crate::python::explore::assumptions::Place;

/// Something that went wrong in the running execution.
pub struct Failure {
    pub thread: ThreadId,
    pub exception: Py<PyAny>,
}

/// The running execution, or the last one until the next begins.
#[derive(Default)]
pub struct Run {
    /// Counts from 1.
    pub number: u64,
    pub failures: Vec<Failure>,
    /// Exceptions that primitives have raised because they were misused.
    pub misuses: Vec<Py<PyAny>>,
    /// Where the model did something else than before when the same choices were made again.
    pub difference: Option<Place>,
    /// Generators that threads are advancing, by address.
    pub advancing: FxHashSet<usize>,
    /// Whether the recorder has seen enough.
    pub halted: bool,
    /// How the execution has ended, once it has.
    pub ended: Option<End>,
}

impl Run {
    /// Another execution begins.
    pub fn begin(&mut self) {
        self.ended = None;
        self.halted = false;
        self.advancing.clear();
    }

    /// Whether the execution goes no further because of a failure.
    pub fn has_failed(&self, stop_at_failure: bool) -> bool {
        stop_at_failure && !self.failures.is_empty()
    }
}
