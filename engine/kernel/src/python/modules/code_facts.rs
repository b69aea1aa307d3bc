//! What is known of the code that runs: where it comes from, how it was instrumented, what instruments more of it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::FxHashSet;

use crate::python::calls::builtins::Builtins;
use crate::python::calls::entered_code::EnteredCode;
use crate::python::explore::learning::Variable;

/// What a host knows of code.
pub struct CodeFacts {
    pub builtins: Builtins,
    /// What stands for classes of primitives in programs, by class.
    pub stand_in_classes: Option<Py<PyDict>>,
    pub entered: EnteredCode,
    /// What has modules of the standard library instrumented.
    pub library: Option<Py<PyAny>>,
    /// What makes code of expressions that are evaluated from text.
    pub texts: Option<Py<PyAny>>,
    /// Module variables whose stores from outside of the module are visible.
    pub rebound: FxHashSet<Variable>,
    /// Whether the modules tell of operators that have a literal operand, too.
    pub sees_operands: bool,
}

impl CodeFacts {
    pub fn new(py: Python<'_>) -> PyResult<CodeFacts> {
        Ok(CodeFacts {
            builtins: Builtins::new(py)?,
            stand_in_classes: None,
            entered: EnteredCode::default(),
            library: None,
            texts: None,
            rebound: FxHashSet::default(),
            sees_operands: false,
        })
    }
}
