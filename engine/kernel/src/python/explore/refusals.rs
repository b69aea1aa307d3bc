//! Why a check cannot go on: what the model does that is not controlled, not allowed or not treated.

use pyo3::prelude::*;

use crate::python::threads::predicates::Forbidden;

/// A reason, the later ones before the earlier ones.
pub enum Refusal {
    /// What the model does that the algorithm cannot treat.
    Untreated(&'static str),
    /// What a predicate did that it may not do.
    Forbidden(Forbidden),
    /// What the model did that cannot be controlled.
    Uncontrolled(String),
    /// The coded error with which the symbolic layer gave the check up.
    Coded(Py<PyAny>),
}

impl Refusal {
    fn rank(&self) -> u8 {
        match self {
            Refusal::Untreated(_) => 0,
            Refusal::Forbidden(_) => 1,
            Refusal::Uncontrolled(_) => 2,
            Refusal::Coded(_) => 3,
        }
    }
}

/// The reason that the running exploration has met, if any.
#[derive(Default)]
pub struct Refusals {
    met: Option<Refusal>,
}

impl Refusals {
    /// Keep a reason, unless there is one already that says as much.
    #[cold]
    pub fn add(&mut self, refusal: Refusal) {
        if self.met.as_ref().is_none_or(|met| met.rank() < refusal.rank()) {
            self.met = Some(refusal);
        }
    }

    #[inline]
    pub fn any(&self) -> bool {
        self.met.is_some()
    }

    pub fn met(&self) -> Option<&Refusal> {
        self.met.as_ref()
    }

    /// Whether a predicate has done what it may not do.
    pub fn forbids(&self) -> bool {
        matches!(self.met, Some(Refusal::Forbidden(_)))
    }

    /// What was met does not count.
    pub fn forget(&mut self) {
        self.met = None;
    }
}
