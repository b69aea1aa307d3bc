//! What an exploration gives to Python.

use pyo3::prelude::*;

use crate::python::explore::difference::Difference;
use crate::python::explore::learning::{Restart, Schedule, Variable};
use crate::python::explore::plan::Plan;
use crate::python::explore::refusals::Refusal;
use crate::python::host::Host;

/// What was explored; `_kernel.pyi` says what each field means.
#[pyclass(frozen, get_all, module = "dpor._kernel")]
#[derive(Clone)]
pub struct Explored {
    executions: u64,
    blocked: u64,
    redundant: u64,
    cut: u64,
    events: u64,
    seconds: f64,
    classes: Option<u64>,
}

/// How an exploration has ended; `_kernel.pyi` says what each field means.
#[pyclass(frozen, get_all, module = "dpor._kernel")]
pub struct Outcome {
    explored: Explored,
    complete: bool,
    bound: Option<&'static str>,
    uncontrolled: Option<String>,
    forbidden: Option<(String, Option<String>, u32)>,
    untreated: Option<&'static str>,
    error: Option<Py<PyAny>>,
    restart: Option<&'static str>,
    rebinding: Vec<Variable>,
    by_turns: bool,
    failed_turns: Option<Vec<u32>>,
    by_sections: bool,
    failed_sections: Option<Vec<(String, u32)>>,
    frontier: Option<String>,
    learned: Vec<Schedule>,
    lacks_root: bool,
    nondeterminism: Option<Difference>,
    divergence: Option<(usize, String)>,
    all_slept: bool,
}

#[pymethods]
impl Explored {
    /// All executions that were begun.
    #[getter]
    fn interleavings(&self) -> u64 {
        self.executions + self.blocked + self.redundant + self.cut
    }
}

impl Host {
    /// The outcome of an exploration by `plan`, which has `finished` or was ended.
    pub fn outcome(&self, py: Python<'_>, plan: &Plan, finished: bool) -> Outcome {
        let mut state = self.state();
        let bound = state.driver.meter.reached();
        let unfinished = !finished || bound.is_some();
        let splitting = state.driver.explorer_mut().splitting().filter(|_| unfinished);
        let frontier = splitting.and_then(|explorer| explorer.frontier());
        let (counts, findings) = (state.driver.counts, state.driver.explorer().findings());
        let exhaustive = state.driver.requirements().is_exhaustive;
        let divergence = findings
            .divergence
            .map(|divergence| (divergence.step, state.identities.path(divergence.thread).to_owned()));
        let mut outcome = Outcome {
            explored: Explored {
                executions: counts.executions,
                blocked: counts.blocked,
                redundant: counts.redundant,
                cut: counts.cut,
                events: counts.events,
                seconds: state.driver.meter.elapsed().as_secs_f64(),
                classes: findings.classes,
            },
            complete: !unfinished && exhaustive && counts.cut == 0,
            bound: bound.map(|bound| bound.name()),
            uncontrolled: None,
            forbidden: None,
            untreated: None,
            error: None,
            restart: state.exploration.learning.restart().and_then(|restart| told_restart(restart, plan)),
            rebinding: match state.exploration.learning.restart() {
                Some(Restart::Rebound) => state.exploration.learning.rebinding().to_vec(),
                _ => Vec::new(),
            },
            by_turns: state.waits.turns.were_events(),
            failed_turns: state.exploration.learning.failed_turns().map(<[u32]>::to_vec),
            by_sections: state.waits.sections.were_events(),
            failed_sections: state.exploration.learning.failed_sections().map(<[(String, u32)]>::to_vec),
            frontier,
            learned: state.exploration.learning.schedules().to_vec(),
            lacks_root: findings.lacks_root,
            nondeterminism: state.told_difference(),
            divergence,
            all_slept: findings.all_slept,
        };
        match state.exploration.refusals.met() {
            None => {}
            Some(Refusal::Untreated(what)) => outcome.untreated = Some(what),
            Some(Refusal::Forbidden(forbidden)) => outcome.forbidden = Some(forbidden.told()),
            Some(Refusal::Uncontrolled(what)) => outcome.uncontrolled = Some(what.clone()),
            Some(Refusal::Coded(error)) => outcome.error = Some(error.clone_ref(py)),
        }
        outcome
    }
}

/// The values of `Restart` in Python.
fn told_restart(restart: Restart, plan: &Plan) -> Option<&'static str> {
    match restart {
        Restart::ModuleState => Some("module-state"),
        Restart::Rebound => Some("rebound"),
        Restart::Library => Some("library"),
        Restart::Operands => Some("operands"),
        Restart::Turns => Some("turns"),
        Restart::Sections => Some("sections"),
        // What was followed so far was taken for something else.
        Restart::Visible => plan.follows().then_some("names"),
    }
}
