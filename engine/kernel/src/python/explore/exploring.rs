//! Exploring a model from Python: the loop over executions, with restarts, bounds, progress and failures.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::driver::{Counts, Driver, Summary};
use crate::execution::DataRaces;
use crate::explorer::{create, decides_branches, names, number_of_source, End, ExplorerOptions};
use crate::limits::Meter;
use crate::operation::{Buffering, LocationId, MemoryOrder, Operation, OperationKind, ThreadId};
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::learning::Restart;
use crate::python::explore::plan::{Plan, RacePolicy, FLUSH};
use crate::python::explore::refusals::Refusal;
use crate::python::explore::symbolic::PythonSolver;
use crate::python::heap::chosen_reads::ChosenReads;
use crate::python::heap::weak_memory::WeakMemory;
use crate::python::host::Host;
use crate::python::state::Phase;

/// How often progress is reported, at most.
const BETWEEN_REPORTS: Duration = Duration::from_millis(100);
/// After so many executions the garbage that they left in cycles is collected.
const BETWEEN_COLLECTIONS: u64 = 200;

/// So often a check begins anew because what it has learned makes other operations of those that it repeats. A model
/// that is not the same each time could go on like this for ever.
const MOST_FAULTS: usize = 100;

/// What a thread in `wait_until` is about to do.
const WAIT: Operation = Operation {
    kind: OperationKind::WaitUntil,
    target: LocationId::NONE,
    detail: 0,
    order: MemoryOrder::SequentiallyConsistent,
    buffering: Buffering::Indifferent,
};

/// What a model does when it performs an operation that the algorithm does not treat.
fn construct(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::WaitUntil => "wait_until",
        OperationKind::Branch => "symbolic values",
        OperationKind::CompareExchange => "a compare_exchange of values that cannot be told apart by type and value",
        OperationKind::OwnedAcquire | OperationKind::OwnedTryAcquire | OperationKind::OwnedRelease => {
            "a lock on a file (fcntl.flock), or on a module that threads import"
        }
        _ => "an operation",
    }
}

impl Host {
    /// A description of the failure of an execution, or None if nothing failed.
    fn describe_failures<'py>(
        &self,
        py: Python<'py>,
        summary: &Summary,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, bool)> {
        let mut found = Vec::new();
        let mut state = self.state();
        let failures = std::mem::take(&mut state.run.failures);
        for failure in failures {
            let entry = PyDict::new(py);
            let misuse = state.run.misuses.iter().any(|misuse| misuse.is(&failure.exception));
            entry.set_item("kind", if misuse { "misuse" } else { "exception" })?;
            entry.set_item("thread", state.identities.path(failure.thread))?;
            entry.set_item("exception", failure.exception)?;
            found.push(entry);
        }
        let broken = !found.is_empty();
        for race in std::mem::take(&mut state.races.found) {
            let entry = PyDict::new(py);
            entry.set_item("kind", "data-race")?;
            entry.set_item("thread", state.identities.path(race.second))?;
            entry.set_item("other", state.identities.path(race.first))?;
            entry.set_item("location", race.location.0)?;
            found.push(entry);
        }
        let livelocked = state.livelocked();
        // Who stopped at a failed assumption might have gone on otherwise, as might a thread that still has to look.
        let assumed = summary.assumption_failed && !state.only_spins_stopped();
        let stuck: Vec<ThreadId> = summary
            .waiting
            .iter()
            .chain(livelocked.iter().filter(|thread| !state.driver.threads.get(**thread).daemon))
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let could_go_on = livelocked.is_empty() && state.any_spins();
        let deadlocked = summary.end == End::Maximal && !stuck.is_empty() && !assumed && !could_go_on;
        // Who waits for a thread that failed was let down by the failure, not by a deadlock.
        if deadlocked && !broken {
            let entry = PyDict::new(py);
            let goes_round = livelocked.iter().any(|thread| !state.waits_for_predicate(*thread));
            entry.set_item("kind", if goes_round { "livelock" } else { "deadlock" })?;
            let waiting = PyList::empty(py);
            for thread in &stuck {
                let operation = state.driver.threads.get(*thread).pending;
                let holder = match operation.kind {
                    OperationKind::Acquire => state.driver.memory.holder(operation.target),
                    OperationKind::Join => Some(ThreadId(operation.detail)),
                    _ => None,
                };
                let holder = holder.map(|thread| state.identities.path(thread).to_owned());
                let name = match state.spin_ended(*thread) {
                    Some(_) if state.waits_for_predicate(*thread) => format!("{:?}", WAIT.kind),
                    Some(_) => "spin".to_owned(),
                    None => format!("{:?}", operation.kind),
                };
                waiting.append((state.identities.path(*thread), name, holder))?;
            }
            let first = livelocked.iter().find(|thread| stuck.contains(thread)).unwrap_or(&stuck[0]);
            entry.set_item("thread", state.identities.path(*first))?;
            entry.set_item("waiting", waiting)?;
            found.push(entry);
        }
        let only_warnings = !broken && !deadlocked && !state.races.are_errors;
        Ok((found, only_warnings))
    }

    fn schedule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let state = self.state();
        let steps = PyList::empty(py);
        for event in &state.driver.execution.events()[..state.driver.position()] {
            let path = state.identities.path(event.thread);
            match event.operation.buffering {
                Buffering::Leaves { number, .. } => steps.append((format!("{path}{FLUSH}{number}"), 0))?,
                _ if event.reads.is_some() => steps.append((path, number_of_source(event.reads)))?,
                _ => steps.append((path, event.outcome))?,
            }
        }
        Ok(steps)
    }

    fn report_progress(&self, py: Python<'_>, progress: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (counts, seconds, fraction) = {
            let state = self.state();
            let driver = &state.driver;
            (driver.counts, driver.meter.elapsed().as_secs_f64(), driver.explorer().fraction())
        };
        let Counts { executions, blocked, redundant, cut, events } = counts;
        let go_on = progress.call1((executions + cut, blocked, redundant, events, seconds, fraction))?;
        Ok(!go_on.is(pyo3::types::PyBool::new(py, false)))
    }
}

#[pymethods]
impl Host {
    /// Explore the executions of `main`, run as the thread object `main_thread`.
    ///
    /// Returns a dict: counts (`executions`, `blocked`, `redundant`, `cut`, `events`, `interleavings`), `complete`,
    /// `bound` (the name of the bound that was reached), `restart` (None, `["module-state"]` or `["rebound", module,
    /// variable, ...]`: explore again with that changed; `["library"]` and `["names"]`: explore again, modules have
    /// been instrumented or names were found to be rebound), `uncontrolled`, `forbidden` (None, or what a predicate
    /// did, file or None, line), `untreated`, `nondeterminism`, `divergence`, `assumptions` (a list of kind, subject,
    /// file or None, line).
    ///
    /// Two more entries say how to go on, here or elsewhere: `frontier`, what is left to explore (None if nothing is,
    /// or if the algorithm cannot tell), and `learned`, the schedules that made locations visible, in order. A host
    /// that has followed them with the algorithm `learn` sees what this one sees.
    ///
    /// `on_failure(description, schedule)` is called for each failure; its value False ends the exploration. It is
    /// called with None when the exploration begins again: what was found so far counts no more.
    /// `on_progress(executions, blocked, redundant, events, seconds, fraction)` likewise cancels with False. The
    /// keyword arguments are the fields of `Plan`. Raises ValueError for an unknown algorithm or an unsupported pair,
    /// TypeError for an unknown argument.
    #[pyo3(signature = (main, main_thread, **options))]
    fn explore<'py>(
        &self,
        py: Python<'py>,
        main: Py<PyAny>,
        main_thread: Py<PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let plan = Plan::read(options)?;
        self.include_wanted(py)?;
        self.begin(py, &plan)?;
        self.note_calls_made(py)?;
        let explored = self.run_all(py, &plan, &main, &main_thread);
        self.recording.store(false, Ordering::Relaxed);
        self.state().recording.recorder = None;
        let finished = explored?;
        self.restore(py, || Ok(()))?;
        self.outcome(py, &plan, finished)
    }

    /// While an exploration reports its progress: what is left of it. None if the algorithm cannot tell.
    fn frontier(&self) -> Option<String> {
        self.state().driver.explorer_mut().splitting()?.frontier()
    }

    /// While an exploration reports its progress: take a part of what is left away from it, to be explored elsewhere.
    /// None if it has nothing to spare.
    fn split(&self) -> Option<String> {
        self.state().driver.explorer_mut().splitting()?.split()
    }

    /// While an exploration reports its progress: `learned`, as `explore` returns them.
    fn learned(&self) -> Vec<Vec<(String, u32)>> {
        self.state().learning.schedules().to_vec()
    }

    /// The algorithms, the default first.
    #[staticmethod]
    fn algorithms() -> Vec<&'static str> {
        names().collect()
    }

    /// Whether an algorithm explores symbolic branches.
    #[staticmethod]
    fn decides_branches(algorithm: &str) -> bool {
        decides_branches(algorithm)
    }

    /// The name of an algorithm that supports the memory model, if this pair is unsupported; None if it is supported.
    /// Raises ValueError for an unknown algorithm.
    #[staticmethod]
    fn alternative(algorithm: &str, memory_model: &str) -> PyResult<Option<&'static str>> {
        let options = ExplorerOptions::default();
        match create(algorithm, memory_model, &options) {
            None => Err(PyValueError::new_err(format!("unknown algorithm {algorithm:?}"))),
            Some(Ok(_)) => Ok(None),
            Some(Err(unsupported)) => Ok(Some(unsupported.instead.unwrap_or("none"))),
        }
    }
}

impl Host {
    /// Set the state up for a new exploration.
    fn begin(&self, py: Python<'_>, plan: &Plan) -> PyResult<()> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.phase != Phase::Idle {
            return Err(PyValueError::new_err("an exploration is already running"));
        }
        if state.greenlets.closing {
            return Err(PyValueError::new_err("the host is closed"));
        }
        let explorer = plan.first_explorer(&mut state.identities, &state.recording.steps)?;
        let followed = plan.scheduled_steps(&mut state.identities)?;
        state.driver = Driver::new(explorer, plan.memory(), Meter::new(plan.limits));
        let buffers_stores = state.driver.memory.buffers_stores();
        let weak = WeakMemory::new(buffers_stores, plan.memory_model == "pso", followed);
        let chooses_reads = state.driver.memory.chooses_reads();
        let model = chooses_reads.then_some(plan.memory_model.as_str());
        let reads = ChosenReads::new(plan.chosen_reads || chooses_reads, model);
        let former = (std::mem::replace(&mut state.heap.weak, weak), std::mem::replace(&mut state.heap.reads, reads));
        state.settings = plan.settings(state.driver.requirements().is_exhaustive);
        state.clocks.most_jumps = plan.clock_jumps;
        state.primitives.queues.by_cells = !chooses_reads && state.driver.requirements().takes_parts;
        state.primitives.queues.are_primitives = !plan.library_queues;
        state.primitives.pools.are_primitives = !plan.library_pools;
        state.races.detector = (plan.data_races != RacePolicy::Ignore).then(DataRaces::default);
        state.races.are_errors = plan.data_races == RacePolicy::Error;
        state.races.ends_execution = plan.stop_at_failure && state.races.are_errors;
        state.learning.begin(plan.learns());
        state.refusals.forget();
        state.run.difference = None;
        state.symbolic.used = false;
        state.symbolic.solver = plan.solver.as_ref().map(|solver| solver.clone_ref(py));
        if let Some(solver) = &plan.solver {
            let solver = PythonSolver::new(solver.clone_ref(py), state.symbolic.error.clone());
            state.driver.execution.conditions().solve_with(Box::new(solver));
        }
        state.recording.recorder = plan.recorder.as_ref().map(|recorder| recorder.clone_ref(py));
        self.recording.store(state.recording.recorder.is_some(), Ordering::Relaxed);
        // Destructors are model code, which uses the host.
        drop(guard);
        drop(former);
        Ok(())
    }

    /// Whether an operator may have read what its operands are without being seen. What else was learned of the
    /// execution comes first, so that it is learned of one that can be repeated.
    fn lacks_operands(&self, plan: &Plan) -> bool {
        let state = self.state();
        let can_begin_again = match plan.repeats() {
            true => plan.follows(),
            false => !matches!(state.learning.restart(), Some(Restart::Visible | Restart::Library)),
        };
        state.types.computes && !state.code.sees_operands && can_begin_again
    }

    /// Returns whether the exploration ran to its end.
    fn run_all(&self, py: Python<'_>, plan: &Plan, main: &Py<PyAny>, main_thread: &Py<PyAny>) -> PyResult<bool> {
        let mut reported = Instant::now();
        let mut since_collection = 0;
        let mut faults = 0;
        let keeps_going_on_failure = !plan.stop_at_failure;
        loop {
            self.end_former_classes(py)?;
            let end = self.woken(|| self.run_execution(py, main, main_thread))?;
            if self.include_wanted(py)? {
                // What ran so far ran without it.
                let mut state = self.state();
                state.assumptions.forget(AssumptionKind::ForeignCode);
                state.refusals.forget();
                state.learning.begin_anew_whatever_else(Restart::Library);
            }
            if self.lacks_operands(plan) {
                let mut state = self.state();
                state.refusals.forget();
                state.learning.begin_anew_whatever_else(Restart::Operands);
            }
            let (summary, restart, stop) = {
                let mut state = self.state();
                state.tell_of_spin_reads();
                let divided = if state.learning.restart().is_none() { state.divided_operation(py) } else { None };
                if let Some(refusal) = divided {
                    state.refusals.add(Refusal::Coded(refusal));
                    return Ok(false);
                }
                let summary = state.driver.end_execution(end);
                // What explores by values relies on the order of what is not visible, until the first race is seen.
                // What is learned of operations makes others of them, also of those that are repeated; but it comes to
                // an end.
                faults += usize::from(state.driver.fault().is_some());
                let misled = match state.learning.restart() {
                    Some(Restart::Library | Restart::Operands) => true,
                    Some(Restart::Visible) => state.driver.wants_values() || !plan.repeats() && faults <= MOST_FAULTS,
                    _ => false,
                };
                if let (false, Some(kind)) = (misled, state.driver.explorer().findings().refusal) {
                    state.refusals.add(Refusal::Untreated(construct(kind)));
                }
                let differs = !misled && state.driver.fault().is_some();
                let stop = state.given_up() || differs;
                (summary, state.learning.restart(), stop)
            };
            let solver_error = self.state().symbolic.error.take();
            if let Some(error) = solver_error {
                return Err(error);
            }
            if stop {
                return Ok(false);
            }
            match restart {
                Some(Restart::Visible | Restart::Library) if !plan.repeats() => {
                    let schedule = self.schedule(py)?.extract()?;
                    let mut guard = self.state();
                    let state = &mut *guard;
                    state.learning.go_on_with(schedule);
                    let explorer = plan.explorer(&mut state.identities, &state.recording.steps)?;
                    state.driver.restart(explorer);
                    if !state.driver.meter.allows_execution(0) {
                        return Ok(false);
                    }
                    drop(guard);
                    if let Some(on_failure) = &plan.on_failure {
                        let go_on = on_failure.bind(py).call1((py.None(), PyList::empty(py)))?;
                        if go_on.is(pyo3::types::PyBool::new(py, false)) {
                            return Ok(false);
                        }
                    }
                    continue;
                }
                Some(Restart::ModuleState | Restart::Rebound) => {
                    // It may have shown before what races, too.
                    let schedule = self.schedule(py)?.extract()?;
                    self.state().learning.note_schedule(schedule);
                    return Ok(false);
                }
                Some(Restart::Library | Restart::Operands) => return Ok(false),
                _ => {}
            }
            let (failures, only_warnings) = self.describe_failures(py, &summary)?;
            if !failures.is_empty() {
                let keeps_going_on_failure = keeps_going_on_failure || only_warnings;
                if summary.end == End::Cut && !keeps_going_on_failure {
                    self.state().driver.counts.count_failed();
                }
                if let Some(on_failure) = &plan.on_failure {
                    for failure in failures {
                        let go_on = on_failure.bind(py).call1((failure, self.schedule(py)?))?;
                        if go_on.is(pyo3::types::PyBool::new(py, false)) {
                            return Ok(false);
                        }
                    }
                }
                if !keeps_going_on_failure {
                    return Ok(false);
                }
            }
            if !summary.more {
                return Ok(true);
            }
            since_collection += 1;
            if since_collection == BETWEEN_COLLECTIONS {
                since_collection = 0;
                let gc = py.import("gc")?;
                self.restore(py, || gc.call_method0(intern!(py, "collect")).map(drop))?;
            }
            if let Some(progress) = &plan.on_progress {
                if reported.elapsed() >= BETWEEN_REPORTS {
                    reported = Instant::now();
                    if !self.report_progress(py, progress.bind(py))? {
                        self.state().driver.cancel();
                        return Ok(false);
                    }
                    py.check_signals()?;
                }
            }
        }
    }

    fn outcome<'py>(&self, py: Python<'py>, plan: &Plan, finished: bool) -> PyResult<Bound<'py, PyDict>> {
        let outcome = PyDict::new(py);
        let mut state = self.state();
        let counts = state.driver.counts;
        let bound = state.driver.meter.reached();
        let exhaustive = state.driver.requirements().is_exhaustive;
        outcome.set_item("executions", counts.executions)?;
        outcome.set_item("blocked", counts.blocked)?;
        outcome.set_item("redundant", counts.redundant)?;
        outcome.set_item("cut", counts.cut)?;
        outcome.set_item("events", counts.events)?;
        outcome.set_item("interleavings", counts.total())?;
        outcome.set_item("seconds", state.driver.meter.elapsed().as_secs_f64())?;
        outcome.set_item("complete", finished && bound.is_none() && exhaustive && counts.cut == 0)?;
        outcome.set_item("bound", bound.map(|bound| bound.name()))?;
        for name in ["uncontrolled", "forbidden", "untreated", "refusal"] {
            outcome.set_item(name, py.None())?;
        }
        match state.refusals.met() {
            None => {}
            Some(Refusal::Untreated(what)) => outcome.set_item("untreated", what)?,
            Some(Refusal::Forbidden(forbidden)) => outcome.set_item("forbidden", forbidden.told())?,
            Some(Refusal::Uncontrolled(what)) => outcome.set_item("uncontrolled", what)?,
            Some(Refusal::Coded(error)) => outcome.set_item("refusal", error.clone_ref(py))?,
        }
        outcome.set_item("assumptions", state.told_assumptions())?;
        let restart = match state.learning.restart() {
            Some(Restart::ModuleState) => Some(vec!["module-state".to_owned()]),
            Some(Restart::Rebound) => {
                let names =
                    state.learning.rebinding().iter().flat_map(|(module, name)| [module.clone(), name.clone()]);
                Some(std::iter::once("rebound".to_owned()).chain(names).collect())
            }
            Some(Restart::Library) => Some(vec!["library".to_owned()]),
            Some(Restart::Operands) => Some(vec!["operands".to_owned()]),
            // What was followed so far was taken for something else.
            Some(Restart::Visible) if plan.follows() => Some(vec!["names".to_owned()]),
            Some(Restart::Visible) | None => None,
        };
        outcome.set_item("restart", restart)?;
        let unfinished = !finished || bound.is_some();
        let splitting = state.driver.explorer_mut().splitting().filter(|_| unfinished);
        outcome.set_item("frontier", splitting.and_then(|explorer| explorer.frontier()))?;
        outcome.set_item("learned", state.learning.schedules())?;
        let findings = state.driver.explorer().findings();
        outcome.set_item("classes", findings.classes)?;
        outcome.set_item("lacks_root", findings.lacks_root)?;
        outcome.set_item("nondeterminism", state.told_difference())?;
        let divergence = findings.divergence.map(|divergence| {
            let path = state.identities.path(divergence.thread).to_owned();
            (divergence.step, path, format!("{:?}", divergence.reason))
        });
        outcome.set_item("divergence", divergence)?;
        Ok(outcome)
    }
}
