//! What stands for the lock, the state and the waiters of a `concurrent.futures.Future`: its operations, each one step.
//! The class itself stays the library's (`dpor.runtime.futures`).
//!
//! A future has three locations. That its work has begun is written once and concerns who cancels it or asks whether it
//! runs; how it ended is written once, too, and concerns all the others. Besides there are two flags: `over` is set
//! when it is cancelled or has ended, `settled` when nothing will change any more. Who sets a flag has written the
//! state before, and does nothing in between. So who waits for a flag goes on as late as one that sleeps may wake, and
//! whoever has seen a flag finds the state to it.
//!
//! Several futures are watched (`Watch`) for the order in which they settle. It is that of the steps that settle them:
//! each also writes the location of the watch. The n-th sets the n-th flag, for which a single thread waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyList;
use rustc_hash::FxHashSet;

use super::{Primitive, Standing};
use crate::memory::PrimitiveState;
use crate::operation::{Access, AccessMode, Accesses, Buffering, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::host::{require_host, Host};
use crate::python::state::{access, State};
use crate::python::threads::switching::Footprint;

/// The numbers of the cells of a future, as `Identities::cell` has them.
const BEGUN: u32 = 0;
const ENDED: u32 = 1;
const SETTLED: u32 = 2;
const CALLBACKS: u32 = 3;

/// The same of a watch.
const ORDER: u32 = 0;
const FIRST_FLAG: u32 = 1;

/// What is known of futures and pools in a check; what turns out otherwise begins the exploration anew.
#[derive(Default)]
pub struct PoolFacts {
    /// Whether futures and pools are primitives for the explorer.
    pub are_primitives: bool,
    /// Whether the model uses the insides of one, or asks what only the library's own code can tell: which worker runs
    /// a task.
    pub are_open: bool,
    /// How many tasks a pool gets more than it has workers, which wait for others to end.
    pub overflow: u32,
    /// The threads of this execution that stand for tasks which must not wait, but for locks.
    pub must_not_wait: FxHashSet<ThreadId>,
}

impl Host {
    /// Before an operation: a thread that must not wait may be about to, or to be what another one waits for.
    pub fn wait_in_pool(&self, py: Python<'_>, operation: &Operation) -> PyResult<()> {
        let waits = {
            let state = self.state();
            let by_whom = || state.waits.primitives.pools.must_not_wait.contains(&state.current);
            !state.waits.primitives.pools.must_not_wait.is_empty()
                && match operation.kind {
                    OperationKind::Acquire => false,
                    OperationKind::Release => state.driver.memory.holder(operation.target) != Some(state.current),
                    _ => operation.may_block() && by_whom(),
                }
        };
        match waits {
            true => Err(open(self, py)),
            false => Ok(()),
        }
    }
}

#[pymethods]
impl Host {
    /// Something asks of pools or futures what only the library's own code can tell: explore again with that.
    fn open_pools(&self, py: Python<'_>) -> PyResult<()> {
        let closed = self.awake().is_some_and(|state| is_closed(&state));
        match closed {
            true => Err(open(self, py)),
            false => Ok(()),
        }
    }
}

/// How far a future is, as its attribute `_state` has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pending,
    Running,
    Cancelled,
    Notified,
    Finished,
}

impl Stage {
    fn text(self) -> &'static str {
        match self {
            Stage::Pending => "PENDING",
            Stage::Running => "RUNNING",
            Stage::Cancelled => "CANCELLED",
            Stage::Notified => "CANCELLED_AND_NOTIFIED",
            Stage::Finished => "FINISHED",
        }
    }

    fn is_settled(self) -> bool {
        matches!(self, Stage::Notified | Stage::Finished)
    }

    fn is_over(self) -> bool {
        self.is_settled() || self == Stage::Cancelled
    }
}

fn unset() -> PrimitiveState {
    PrimitiveState::Flag { set: false, waiters: Vec::new() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The running thread makes a step that always accesses the same. Returns whether it was an event.
///
/// What an operation accesses may depend on nothing that others change, unless the memory model can tell what it would
/// have accessed earlier (`MemoryModel::accesses_before`), which it can of a future that settles.
fn step(host: &Host, py: Python<'_>, kind: OperationKind, accesses: &Accesses) -> PyResult<bool> {
    let target = {
        let mut state = host.state();
        let Some(first) = accesses.iter().find(|access| state.run.halted || state.is_visible(access.location)) else {
            state.quiet(accesses);
            return Ok(false);
        };
        first.location
    };
    let operation = Operation { buffering: Buffering::Drains, ..Operation::new(kind, target, target.0) };
    host.perform(py, operation, 1, |state| {
        let visible = state.visible_part(accesses.clone());
        Footprint { accesses: Some(visible), before: Some(0), found: None }
    })?;
    Ok(true)
}

/// The inside of a future.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Completion {
    /// Its location is that of the flag that the future is over.
    primitive: Primitive,
    begun: LocationId,
    ended: LocationId,
    settled: LocationId,
    callbacks: LocationId,
    stage: Mutex<Stage>,
    watch: Mutex<Option<Watching>>,
}

/// Who watches a future.
struct Watching {
    /// The place of the future among those that are watched.
    place: usize,
    settled: Arc<Mutex<Vec<usize>>>,
    flags: Arc<[LocationId]>,
}

impl Completion {
    fn stage(&self) -> Stage {
        *locked(&self.stage)
    }

    fn step(&self, py: Python<'_>, accesses: &[Access]) -> PyResult<bool> {
        let writes = accesses.iter().any(|access| access.mode == AccessMode::Write);
        let kind = if writes { OperationKind::Store } else { OperationKind::Load };
        step(self.primitive.host(), py, kind, &accesses.iter().copied().collect())
    }

    /// The future settles. Returns whether that was an event.
    fn settle(&self, py: Python<'_>) -> PyResult<bool> {
        let host = self.primitive.host();
        let operation = Operation::new(OperationKind::Settle, self.ended, 0);
        let is_watched = {
            let state = host.state();
            let accesses = state.driver.memory.accesses(state.current, &operation);
            accesses.iter().any(|access| state.is_visible(access.location))
        };
        match is_watched {
            // Threads may race for its place among others though not for itself.
            true => {
                host.perform(py, operation, 1, |state| {
                    let accesses = state.driver.memory.accesses(state.current, &operation);
                    Footprint::of(state.visible_part(accesses))
                })?;
                Ok(true)
            }
            false => Ok(self.primitive.operate(py, operation)?.1),
        }
    }

    fn set(&self, py: Python<'_>, flag: LocationId) -> PyResult<bool> {
        Ok(self.primitive.operate(py, Operation::new(OperationKind::FlagSet, flag, 0))?.1)
    }

    /// The future has just settled: tell who watches, in the same step. Returns the flag to set for them.
    fn count(&self) -> Option<LocationId> {
        let watching = locked(&self.watch).take()?;
        let mut settled = locked(&watching.settled);
        settled.push(watching.place);
        watching.flags.get(settled.len() - 1).copied()
    }

    /// Wake who waits.
    fn announce(&self, py: Python<'_>, shown: &Bound<'_, PyAny>, watched: Option<LocationId>) -> PyResult<()> {
        let event = self.set(py, self.primitive.location())?;
        self.primitive.host().note(py, Word::Set, Some(shown), None, None, event);
        for flag in [Some(self.settled), watched].into_iter().flatten() {
            self.set(py, flag)?;
        }
        Ok(())
    }

    fn wait_for(&self, shown: &Bound<'_, PyAny>, flag: LocationId) -> PyResult<()> {
        let py = shown.py();
        match self.primitive.standing(py, "waits for a future")? {
            Standing::Live => {}
            Standing::Plain => return Ok(()),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.primitive.host();
        host.note_waiting(py, Word::Wait, Some(shown));
        let (_, event) = self.primitive.operate(py, Operation::new(OperationKind::FlagWait, flag, 0))?;
        host.note_bool(py, Word::Wait, shown, true, event);
        Ok(())
    }
}

fn is_closed(state: &State) -> bool {
    state.executes() && state.waits.primitives.pools.are_primitives && !state.waits.primitives.pools.are_open
}

/// Something uses what only the library's own code has: explore again with that.
fn open(host: &Host, py: Python<'_>) -> PyErr {
    host.state().waits.primitives.pools.are_open = true;
    host.restart_with(py, Restart::Visible)
}

#[pymethods]
impl Completion {
    /// The inside of a new future; None where the library's own code is to run.
    #[staticmethod]
    fn make(py: Python<'_>) -> PyResult<Option<Completion>> {
        let host = require_host(py)?;
        if !host.get().awake().is_some_and(|state| is_closed(&state)) {
            return Ok(None);
        }
        let primitive = Primitive::new(py, "Future", Some(unset()), 0)?;
        let home = primitive.location();
        let [begun, ended, settled, callbacks] = {
            let mut state = host.get().state();
            let all = [BEGUN, ENDED, SETTLED, CALLBACKS].map(|number| state.identities.cell(home, number));
            let [_, ended, settled, _] = all;
            state.driver.memory.create(settled, unset());
            state.driver.memory.create(ended, PrimitiveState::Ending { order: None });
            all
        };
        Ok(Some(Completion {
            primitive,
            begun,
            ended,
            settled,
            callbacks,
            stage: Mutex::new(Stage::Pending),
            watch: Mutex::new(None),
        }))
    }

    /// Whether the pools of this execution are primitives.
    #[staticmethod]
    fn are_closed(py: Python<'_>) -> PyResult<bool> {
        Ok(require_host(py)?.get().awake().is_some_and(|state| is_closed(&state)))
    }

    /// How many tasks of a pool wait for a worker at most. At least `number` do: explore again with that, if it was not
    /// known.
    #[staticmethod]
    fn overflow(py: Python<'_>, number: u32) -> PyResult<u32> {
        let host = require_host(py)?;
        let known = host.get().state().waits.primitives.pools.overflow;
        if number > known {
            host.get().state().waits.primitives.pools.overflow = number;
            return Err(host.get().restart_with(py, Restart::Visible));
        }
        Ok(known)
    }

    /// The running thread stands for a task whose library code may have fewer workers than it should: from now on it
    /// must not wait for others, but for a lock that they hold.
    #[staticmethod]
    fn must_not_wait(py: Python<'_>) -> PyResult<()> {
        let host = require_host(py)?;
        let mut state = host.get().state();
        let current = state.current;
        state.waits.primitives.pools.must_not_wait.insert(current);
        Ok(())
    }

    /// Something uses what only the library's own code has: explore again with that. Between executions there is no
    /// need.
    fn open(&self, py: Python<'_>) -> PyResult<()> {
        match self.primitive.standing_to_look(py)? {
            Standing::Live => Err(open(self.primitive.host(), py)),
            Standing::Plain => Ok(()),
            Standing::Over => Err(Host::aborted()),
        }
    }

    /// What `_state` is as the running thread has just found it.
    #[getter(stage)]
    fn shown_stage(&self) -> &'static str {
        self.stage().text()
    }

    /// What `_state` is, read in one step; with `exactly` not only whether and how it has ended.
    fn look(&self, shown: &Bound<'_, PyAny>, exactly: bool) -> PyResult<&'static str> {
        let py = shown.py();
        // The library's code takes a lock for it, which a predicate may not do either.
        if matches!(self.primitive.standing(py, "looks at a future")?, Standing::Live) {
            let all = [access(self.ended, AccessMode::Read), access(self.begun, AccessMode::Read)];
            let event = self.step(py, if exactly { &all } else { &all[..1] })?;
            self.primitive.host().note(py, Word::Read, Some(shown), None, None, event);
        }
        Ok(self.stage().text())
    }

    /// The work begins, unless it was cancelled. Returns what `_state` was.
    fn begin(&self, shown: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let py = shown.py();
        match self.primitive.standing(py, "begins the work of a future")? {
            Standing::Live => {}
            Standing::Plain => return Ok(self.stage().text()),
            Standing::Over => return Err(Host::aborted()),
        }
        let footprint = [access(self.begun, AccessMode::Write), access(self.ended, AccessMode::Read)];
        let event = self.step(py, &footprint)?;
        let stage = self.stage();
        self.primitive.host().note(py, Word::Write, Some(shown), None, None, event);
        match stage {
            Stage::Pending => *locked(&self.stage) = Stage::Running,
            Stage::Cancelled => {
                self.settle(py)?;
                *locked(&self.stage) = Stage::Notified;
                let watched = self.count();
                for flag in [Some(self.settled), watched].into_iter().flatten() {
                    self.set(py, flag)?;
                }
            }
            _ => {}
        }
        Ok(stage.text())
    }

    /// It has ended with a result or an exception, which `keep` puts where it is found. Returns what `_state` was,
    /// which nothing changes where it was over.
    fn finish(&self, shown: &Bound<'_, PyAny>, keep: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let py = shown.py();
        match self.primitive.standing(py, "ends a future")? {
            Standing::Live => {}
            Standing::Plain => return Ok(self.stage().text()),
            Standing::Over => return Err(Host::aborted()),
        }
        let event = self.settle(py)?;
        let stage = self.stage();
        if stage.is_over() {
            self.primitive.host().note(py, Word::Read, Some(shown), None, None, event);
            return Ok(stage.text());
        }
        *locked(&self.stage) = Stage::Finished;
        let watched = self.count();
        self.primitive.host().note(py, Word::Write, Some(shown), None, None, event);
        keep.call0()?;
        self.announce(py, shown, watched)?;
        Ok(stage.text())
    }

    /// Cancel it if the work has not begun. Returns what `_state` was.
    fn cancel(&self, shown: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let py = shown.py();
        match self.primitive.standing(py, "cancels a future")? {
            Standing::Live => {}
            Standing::Plain => return Ok(self.stage().text()),
            Standing::Over => return Err(Host::aborted()),
        }
        let event = self.step(py, &[access(self.ended, AccessMode::Write), access(self.begun, AccessMode::Read)])?;
        let stage = self.stage();
        self.primitive.host().note(py, Word::Write, Some(shown), None, None, event);
        if stage == Stage::Pending {
            *locked(&self.stage) = Stage::Cancelled;
            let event = self.set(py, self.primitive.location())?;
            self.primitive.host().note(py, Word::Set, Some(shown), None, None, event);
        }
        Ok(stage.text())
    }

    /// A callback is added. Returns whether it is kept for when the future is over, which it is not yet.
    fn add_callback(&self, shown: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = shown.py();
        match self.primitive.standing(py, "adds a callback to a future")? {
            Standing::Live => {}
            Standing::Plain => return Ok(!self.stage().is_over()),
            Standing::Over => return Err(Host::aborted()),
        }
        // Those of several threads are called in the order in which they were added.
        let event =
            self.step(py, &[access(self.callbacks, AccessMode::Write), access(self.ended, AccessMode::Read)])?;
        self.primitive.host().note(py, Word::Write, Some(shown), None, None, event);
        Ok(!self.stage().is_over())
    }

    /// Wait until it is over.
    fn wait(&self, shown: &Bound<'_, PyAny>) -> PyResult<()> {
        self.wait_for(shown, self.primitive.location())
    }

    /// Wait until it has settled: one that was cancelled when whoever would have begun it has seen that.
    fn wait_settled(&self, shown: &Bound<'_, PyAny>) -> PyResult<()> {
        self.wait_for(shown, self.settled)
    }
}

/// Several futures whose order is waited for.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Watch {
    primitive: Primitive,
    flags: Arc<[LocationId]>,
    settled: Arc<Mutex<Vec<usize>>>,
    /// How many have been told of.
    next: AtomicU32,
}

#[pymethods]
impl Watch {
    /// Begin to watch futures, in one step. Returns the watch, and which of the futures have settled already.
    #[staticmethod]
    fn begin<'py>(
        py: Python<'py>,
        shown: &Bound<'py, PyAny>,
        futures: Vec<Py<Completion>>,
    ) -> PyResult<(Watch, Bound<'py, PyList>)> {
        let primitive = Primitive::new(py, "Watch", Some(unset()), 0)?;
        let home = primitive.location();
        let (order, flags) = {
            let mut state = primitive.host().state();
            let order = state.identities.cell(home, ORDER);
            let numbers = 0..futures.len() as u32;
            let flags: Vec<_> = numbers.map(|number| state.identities.cell(home, FIRST_FLAG + number)).collect();
            for flag in &flags {
                state.driver.memory.create(*flag, unset());
            }
            (order, Arc::<[LocationId]>::from(flags))
        };
        let ended = |future: &Py<Completion>| access(future.get().ended, AccessMode::Read);
        let event = step(primitive.host(), py, OperationKind::Watch, &futures.iter().map(ended).collect())?;
        primitive.host().note(py, Word::Read, Some(shown), None, None, event);
        let settled = Arc::new(Mutex::new(Vec::new()));
        let mut were_settled = Vec::new();
        for (place, future) in futures.iter().enumerate() {
            let future = future.get();
            let is_settled = future.stage().is_settled();
            were_settled.push(is_settled);
            if is_settled {
                continue;
            }
            primitive.host().state().driver.memory.primitives_mut().watch(future.ended, order);
            let watching = Watching { place, settled: settled.clone(), flags: flags.clone() };
            if locked(&future.watch).replace(watching).is_some() {
                // Two watch one future.
                return Err(open(primitive.host(), py));
            }
        }
        let watch = Watch { primitive, flags, settled, next: AtomicU32::new(0) };
        Ok((watch, PyList::new(py, were_settled)?))
    }

    /// Wait for the next to settle. Returns its place among those that are watched.
    fn next(&self, shown: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = shown.py();
        if !matches!(self.primitive.standing(py, "waits for a future")?, Standing::Live) {
            return Err(Host::aborted());
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed) as usize;
        let host = self.primitive.host();
        host.note_waiting(py, Word::Wait, Some(shown));
        let Some(&flag) = self.flags.get(number) else { return Err(Host::aborted()) };
        let (_, event) = self.primitive.operate(py, Operation::new(OperationKind::FlagWait, flag, 0))?;
        host.note_bool(py, Word::Wait, shown, true, event);
        locked(&self.settled).get(number).copied().ok_or_else(Host::aborted)
    }
}
