//! Exploring a model from Python: the loop over executions, with restarts, bounds, progress and failures.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::driver::{Counts, Driver};
use crate::execution::DataRaces;
use crate::explorer::{create, decides_branches, names, number_of_source, End, ExplorerOptions};
use crate::limits::Meter;
use crate::operation::{Buffering, OperationKind};
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::learning::Restart;
use crate::python::explore::outcome::Outcome;
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
    /// `Outcome` says how it has ended, and how to go on, here or elsewhere: by the frontier, after a host has followed
    /// what was learned with the algorithm `learn`.
    ///
    /// `on_failure(description, schedule)` is called for each failure; its value False ends the exploration. It is
    /// called with None when the exploration begins again: what was found so far counts no more.
    /// `on_progress(executions, blocked, redundant, events, seconds, fraction)` likewise cancels with False. The
    /// keyword arguments are the fields of `Plan`. Raises ValueError for an unknown algorithm or an unsupported pair,
    /// TypeError for an unknown argument.
    #[pyo3(signature = (main, main_thread, **options))]
    fn explore(
        &self,
        py: Python<'_>,
        main: Py<PyAny>,
        main_thread: Py<PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Outcome> {
        let plan = Plan::read(options)?;
        self.include_wanted(py)?;
        self.begin(py, &plan)?;
        self.note_calls_made(py)?;
        let explored = self.run_all(py, &plan, &main, &main_thread);
        self.recording.store(false, Ordering::Relaxed);
        self.state().exploration.recording.recorder = None;
        let finished = explored?;
        self.restore(py, || Ok(()))?;
        Ok(self.outcome(py, &plan, finished))
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
        self.state().exploration.learning.schedules().to_vec()
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
        let explorer =
            plan.first_explorer(&mut state.identities, &state.exploration.recording.steps, &state.waits.sections)?;
        let followed = plan.scheduled_steps(&mut state.identities)?;
        state.driver = Driver::new(explorer, plan.memory(), Meter::new(plan.limits));
        let buffers_stores = state.driver.memory.buffers_stores();
        let weak = WeakMemory::new(buffers_stores, plan.memory_model == "pso", followed);
        let chooses_reads = state.driver.memory.chooses_reads();
        let model = chooses_reads.then_some(plan.memory_model.as_str());
        let reads = ChosenReads::new(plan.repeated.chosen_reads || chooses_reads, model);
        let former = (std::mem::replace(&mut state.heap.weak, weak), std::mem::replace(&mut state.heap.reads, reads));
        state.exploration.settings = plan.settings(state.driver.requirements().is_exhaustive);
        state.waits.clocks.most_jumps = plan.hosting.clock_jumps;
        state.waits.primitives.queues.by_cells = !chooses_reads && state.driver.requirements().takes_parts;
        state.waits.primitives.queues.are_primitives = !plan.hosting.library_queues;
        state.waits.primitives.pools.are_primitives = !plan.hosting.library_pools;
        state.exploration.races.detector = (plan.data_races != RacePolicy::Ignore).then(DataRaces::default);
        state.exploration.races.are_errors = plan.data_races == RacePolicy::Error;
        state.exploration.races.ends_execution = plan.stop_at_failure && state.exploration.races.are_errors;
        state.exploration.learning.begin(plan.learns());
        state.exploration.assumptions.begin();
        state.exploration.refusals.forget();
        state.waits.turns.begin(plan.hosting.turns && plan.treats_turns());
        state.waits.sections.begin(plan.hosting.sections && plan.treats_turns());
        state.run.difference = None;
        state.exploration.symbolic.used = false;
        state.exploration.symbolic.solver = plan.solver.as_ref().map(|solver| solver.clone_ref(py));
        if let Some(solver) = &plan.solver {
            let solver = PythonSolver::new(solver.clone_ref(py), state.exploration.symbolic.error.clone());
            state.driver.execution.conditions().solve_with(Box::new(solver));
        }
        state.exploration.recording.recorder =
            plan.listeners.recorder.as_ref().map(|recorder| recorder.clone_ref(py));
        self.recording.store(state.exploration.recording.recorder.is_some(), Ordering::Relaxed);
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
            false => !matches!(state.exploration.learning.restart(), Some(Restart::Visible | Restart::Library)),
        };
        state.types.computes && !state.code.sees_operands && can_begin_again
    }

    /// Whether the turns of event loops are events of this exploration and must not be: the verdict would rest on what it
    /// does not rest on otherwise, or nothing would be explored.
    fn lacks_turns(&self) -> bool {
        let state = self.state();
        state.waits.turns.were_events()
            && (state.given_up()
                || state.run.ended == Some(End::Redundant)
                || state.driver.fault().is_some()
                || state.exploration.assumptions.has_more_than_turns_allow())
    }

    /// The exploration begins anew, and what it was refused for is found again if it is there.
    fn begin_anew_without_refusals(&self, reason: Restart) {
        let mut state = self.state();
        state.exploration.refusals.forget();
        state.exploration.learning.begin_anew_whatever_else(reason);
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
                self.state().exploration.assumptions.forget(AssumptionKind::ForeignCode);
                self.begin_anew_without_refusals(Restart::Library);
            }
            if self.lacks_operands(plan) {
                self.begin_anew_without_refusals(Restart::Operands);
            }
            if self.state().lacks_sections() {
                self.begin_anew_without_refusals(Restart::Sections);
            }
            if self.lacks_turns() {
                self.state().exploration.assumptions.forget_more();
                self.namespaces.forget_told();
                self.begin_anew_without_refusals(Restart::Turns);
            }
            let (summary, restart, stop) = {
                let mut state = self.state();
                state.tell_of_spin_reads();
                let divided =
                    if state.exploration.learning.restart().is_none() { state.divided_operation(py) } else { None };
                if let Some(refusal) = divided {
                    state.exploration.refusals.add(Refusal::Coded(refusal));
                    return Ok(false);
                }
                let summary = state.driver.end_execution(end);
                state.learn_of_torn_sections();
                // What explores by values relies on the order of what is not visible, until the first race is seen.
                // What is learned of operations makes others of them, also of those that are repeated; but it comes to
                // an end.
                faults += usize::from(state.driver.fault().is_some());
                let misled = match state.exploration.learning.restart() {
                    Some(Restart::Library | Restart::Operands | Restart::Turns | Restart::Sections) => true,
                    Some(Restart::Visible) => state.driver.wants_values() || !plan.repeats() && faults <= MOST_FAULTS,
                    _ => false,
                };
                if let (false, Some(kind)) = (misled, state.driver.explorer().findings().refusal) {
                    state.exploration.refusals.add(Refusal::Untreated(construct(kind)));
                }
                let differs = !misled && state.driver.fault().is_some();
                let stop = state.given_up() || differs;
                (summary, state.exploration.learning.restart(), stop)
            };
            let solver_error = self.state().exploration.symbolic.error.take();
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
                    // Nothing but this exploration can follow turns and sections that are events.
                    let joined = state.waits.turns.were_events() || state.waits.sections.were_events();
                    let schedule = (!joined).then_some(schedule);
                    state.exploration.learning.go_on_with(schedule);
                    state.waits.sections.begin_anew();
                    let explorer = plan.explorer(
                        &mut state.identities,
                        &state.exploration.recording.steps,
                        &state.waits.sections,
                    )?;
                    state.driver.restart(explorer);
                    if !state.driver.meter.allows_execution(0) {
                        return Ok(false);
                    }
                    drop(guard);
                    if let Some(on_failure) = &plan.listeners.on_failure {
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
                    self.state().exploration.learning.note_schedule(schedule);
                    return Ok(false);
                }
                Some(Restart::Library | Restart::Operands | Restart::Turns | Restart::Sections) => return Ok(false),
                _ => {}
            }
            let (failures, only_warnings) = self.describe_failures(&summary);
            {
                let mut state = self.state();
                if state.waits.turns.were_events() && (!failures.is_empty() || state.waits.turns.is_stuck()) {
                    let drawn = state.waits.turns.drawn().to_vec();
                    if summary.end == End::Cut {
                        state.driver.counts.count_failed();
                    }
                    state.exploration.learning.note_failed_turns(drawn);
                    return Ok(false);
                }
            }
            if !failures.is_empty() && self.state().waits.sections.were_events() {
                let schedule = self.schedule(py)?.extract()?;
                let mut state = self.state();
                if summary.end == End::Cut {
                    state.driver.counts.count_failed();
                }
                state.exploration.learning.note_failed_sections(schedule);
                return Ok(false);
            }
            if !failures.is_empty() {
                let keeps_going_on_failure = keeps_going_on_failure || only_warnings;
                if summary.end == End::Cut && !keeps_going_on_failure {
                    self.state().driver.counts.count_failed();
                }
                if let Some(on_failure) = &plan.listeners.on_failure {
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
                let mut state = self.state();
                let diverged = state.driver.explorer().findings().divergence.is_some();
                if diverged && state.waits.turns.were_events() {
                    state.exploration.learning.begin_anew_whatever_else(Restart::Turns);
                    return Ok(false);
                }
                if diverged && state.waits.sections.were_events() {
                    state.exploration.learning.begin_anew_whatever_else(Restart::Sections);
                    return Ok(false);
                }
                return Ok(true);
            }
            since_collection += 1;
            if since_collection == BETWEEN_COLLECTIONS {
                since_collection = 0;
                let gc = py.import("gc")?;
                self.restore(py, || gc.call_method0(intern!(py, "collect")).map(drop))?;
            }
            if let Some(progress) = &plan.listeners.on_progress {
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
}
