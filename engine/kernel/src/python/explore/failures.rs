//! What goes wrong in an execution: exceptions that leave threads, misused primitives, data races, deadlocks and
//! livelocks.

use std::collections::BTreeSet;

use pyo3::prelude::*;

use crate::driver::Summary;
use crate::explorer::End;
use crate::operation::{OperationKind, ThreadId};
use crate::python::host::Host;

/// A failure as Python is told of it; `_kernel.pyi` says what each field means.
#[pyclass(frozen, get_all, module = "dpor._kernel")]
#[derive(Default)]
pub struct Failed {
    kind: &'static str,
    thread: String,
    exception: Option<Py<PyAny>>,
    waiting: Vec<(String, String, Option<String>)>,
    other: Option<String>,
    location: Option<u32>,
}

impl Host {
    /// What failed in the execution that has just ended, and whether all of it is only warned of.
    pub fn describe_failures(&self, summary: &Summary) -> (Vec<Failed>, bool) {
        let mut found = Vec::new();
        let mut state = self.state();
        let failures = std::mem::take(&mut state.run.failures);
        for failure in failures {
            let misuse = state.run.misuses.iter().any(|misuse| misuse.is(&failure.exception));
            let kind = if misuse { "misuse" } else { "exception" };
            let thread = state.identities.path(failure.thread).to_owned();
            found.push(Failed { kind, thread, exception: Some(failure.exception), ..Failed::default() });
        }
        let broken = !found.is_empty();
        for race in std::mem::take(&mut state.exploration.races.found) {
            let [other, thread] = [race.first, race.second].map(|thread| state.identities.path(thread).to_owned());
            let (other, location) = (Some(other), Some(race.location.0));
            found.push(Failed { kind: "data-race", thread, other, location, ..Failed::default() });
        }
        let livelocked = state.livelocked();
        // Who stopped at a failed assumption might have gone on otherwise, as might a thread that still has to look.
        let assumed = summary.assumption_failed && !state.only_spins_stopped();
        let spinning = livelocked.iter().filter(|thread| !state.driver.threads.get(**thread).daemon);
        let stuck: BTreeSet<ThreadId> = summary.waiting.iter().chain(spinning).copied().collect();
        let could_go_on = livelocked.is_empty() && state.any_spins();
        let deadlocked = summary.end == End::Maximal && !stuck.is_empty() && !assumed && !could_go_on;
        // Who waits for a thread that failed was let down by the failure, not by a deadlock.
        if deadlocked && !broken {
            let goes_round = livelocked.iter().any(|thread| !state.waits_for_predicate(*thread));
            let kind = if goes_round { "livelock" } else { "deadlock" };
            let mut waiting = Vec::new();
            for thread in &stuck {
                let operation = state.driver.threads.get(*thread).pending;
                let holder = match operation.kind {
                    OperationKind::Acquire => state.driver.memory.holder(operation.target),
                    OperationKind::Join => Some(ThreadId(operation.detail)),
                    _ => None,
                };
                let holder = holder.map(|thread| state.identities.path(thread).to_owned());
                let name = match state.spin_ended(*thread) {
                    Some(_) if state.waits_for_predicate(*thread) => format!("{:?}", OperationKind::WaitUntil),
                    Some(_) => "spin".to_owned(),
                    None => format!("{:?}", operation.kind),
                };
                waiting.push((state.identities.path(*thread).to_owned(), name, holder));
            }
            let first = livelocked.iter().find(|thread| stuck.contains(thread)).or(stuck.first());
            let thread = first.map_or_else(String::new, |thread| state.identities.path(*thread).to_owned());
            found.push(Failed { kind, thread, waiting, ..Failed::default() });
        }
        let only_warnings = !broken && !deadlocked && !state.exploration.races.are_errors;
        (found, only_warnings)
    }
}
