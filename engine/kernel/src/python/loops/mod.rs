//! Loops that only look: an iteration without a side effect need not be repeated until something it read has changed.
//!
//! A polling loop (`while not flag: pass`, `while not done.wait(1): continue`, a lock taken to look and given back) has
//! as many executions as it has fruitless iterations, which no bound ends. An iteration is *pure* if the thread is at
//! the head of the loop again with the same local variables and the same locks, and did nothing in between but read.
//! Doing the same again, it would read the same, and come back to the same state: every execution in which the
//! iteration took place has one without it that differs in these reads only. So
//!
//! - an explorer that sees every execution stops the thread for good after a pure iteration, as a failed assumption
//!   does: the execution in which it looked later, once, is explored as well ("spin-assume": Kokologiannakis, Ren,
//!   Vafeiadis, "Dynamic Partial Order Reductions for Spinloops", FMCAD'21, and the loop purity of Nidhugg: Jonsson,
//!   Lång, Sagonas, "Awaiting for Godot", FMCAD'22);
//! - one that draws schedules, or follows one, lets the thread wait until something that it read is written.
//!
//! If at the end of an execution nothing that the iteration read has been written since, the thread is in a livelock.
//!
//! What counts as a side effect: every write, drawn value and spawned thread. After a turn that has also looked at a
//! clock time passes, as long as the loop may wait for that (see `deadline_loops.rs`). A lock taken and given back
//! within the iteration is none, nor is an atomic exchange that leaves the value as it was.

pub mod deadline_loops;
pub mod loop_locals;
pub mod spins;

use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::explorer::End;
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, OperationKind, ANY_VALUE};
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::loops::deadline_loops::{DeadlineLoops, Turn};
use crate::python::loops::loop_locals::{locals, same_state, Locals};
use crate::python::loops::spins::Spin;
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;

/// Reads beyond which an iteration is taken as one that does something.
const MOST_READS: usize = 100_000;

/// A loop whose iteration has had no side effect so far.
struct Watch {
    /// Which run through which loop it is; grows.
    token: u64,
    /// Where the reads and lock operations of the iteration begin in the thread's lists.
    reads_from: usize,
    locks_from: usize,
    /// The local variables at the head of the loop; None while it is not worth keeping them.
    locals: Option<Locals>,
    /// How many more times to pass before the local variables are kept again.
    patience: u32,
    /// How often in a row the local variables were found changed.
    changes: u32,
    /// Whether time has passed at the head of the loop, which the local variables may show.
    time_passed: bool,
}

impl Watch {
    fn new(token: u64, reads_from: usize, locks_from: usize) -> Watch {
        Watch { token, reads_from, locks_from, locals: None, patience: 0, changes: 0, time_passed: false }
    }
}

/// The loops that one thread is in.
#[derive(Default)]
pub struct Loops {
    watches: Vec<Watch>,
    /// Watches that ended while the host's state was borrowed: what they kept is dropped later.
    ended: Vec<Watch>,
    reads: Vec<(Access, EventId)>,
    /// Locks taken (true) and given back, in order.
    locks: Vec<(LocationId, bool)>,
    pub deadlines: DeadlineLoops,
    pub spin: Option<Spin>,
}

impl Loops {
    /// The thread had a side effect: no loop that it is in can be pure in this iteration.
    #[inline]
    fn affect(&mut self) {
        self.deadlines.note_effect();
        if !self.watches.is_empty() {
            self.ended.append(&mut self.watches);
            self.reads.clear();
            self.locks.clear();
        }
    }

    #[inline]
    fn read(&mut self, access: Access, event: EventId) {
        if self.watches.is_empty() {
            return;
        }
        if self.reads.len() == MOST_READS {
            self.affect();
            return;
        }
        self.reads.push((access, event));
    }

    /// Whether the locks are held as at the head of the loop, and which of them were given up in between.
    fn balance(&self, from: usize) -> Option<Vec<LocationId>> {
        let mut depths: FxHashMap<LocationId, i32> = FxHashMap::default();
        let mut released = Vec::new();
        for (location, taken) in &self.locks[from..] {
            let depth = depths.entry(*location).or_default();
            *depth += if *taken { 1 } else { -1 };
            if *depth < 0 && !released.contains(location) {
                released.push(*location);
            }
        }
        depths.values().all(|depth| *depth == 0).then_some(released)
    }

    /// What the iteration read: each location once, as of the first time.
    fn reads_since(&self, from: usize) -> Vec<(Access, EventId)> {
        let mut found: Vec<(Access, EventId)> = Vec::new();
        for (access, event) in &self.reads[from..] {
            if !found.iter().any(|(other, _)| other == access) {
                found.push((*access, *event));
            }
        }
        found
    }
}

/// What the head of a loop has to do.
enum Head {
    GoOn,
    /// Keep the local variables, to compare with them next time.
    Keep,
    /// Compare the local variables with these.
    Compare(Locals),
}

impl State {
    /// Note what an access that is no event means for the loops of the running thread.
    #[inline]
    pub fn note_in_loops(&mut self, accesses: &[Access], event: EventId) {
        let current = self.current;
        for access in accesses {
            if self.is_predicates_own(access.location) {
                continue;
            }
            let loops = &mut self.thread(current).loops;
            match access.mode {
                AccessMode::Read | AccessMode::IntentRead => loops.read(*access, event),
                AccessMode::Write | AccessMode::IntentWrite => loops.affect(),
            }
        }
    }

    /// The running thread has had a side effect that is no access.
    pub fn affect_loops(&mut self) {
        let current = self.current;
        self.thread(current).loops.affect();
    }

    /// The last event, an operation of the running thread, took place.
    #[inline]
    pub fn note_event_in_loops(&mut self, operation: &Operation) {
        let current = self.current;
        if self.thread(current).loops.watches.is_empty() {
            return;
        }
        let id = EventId((self.driver.position() as u32).saturating_sub(1));
        let mut accesses = self.driver.execution.event(id).accesses.clone();
        if self.driver.memory.is_relaxed(operation) {
            let took_place = operation.kind == OperationKind::CompareExchange
                && [operation.detail, ANY_VALUE].contains(&self.driver.execution.event(id).before);
            let mode = match operation.kind {
                OperationKind::Store => AccessMode::Write,
                OperationKind::CompareExchange if took_place => AccessMode::Write,
                _ => AccessMode::Read,
            };
            accesses.push(Access { location: operation.target, mode });
        }
        self.note_operation_in_loops(operation, &accesses, id);
    }

    /// Note what an operation means for the loops of the running thread. `event` is NONE if it is no event.
    pub fn note_operation_in_loops(&mut self, operation: &Operation, accesses: &[Access], event: EventId) {
        use OperationKind::*;
        let current = self.current;
        let loops = &mut self.thread(current).loops;
        if loops.watches.is_empty() {
            return;
        }
        let writes = accesses.iter().any(|access| access.mode == AccessMode::Write);
        match operation.kind {
            Acquire => loops.locks.push((operation.target, true)),
            TryAcquire if writes => loops.locks.push((operation.target, true)),
            Release | Wait => loops.locks.push((operation.target, false)),
            // The value decides; who performs it tells with `note_update_in_loops`.
            ReadModifyWrite | CellUpdate => {}
            // That it is over changes nothing by itself.
            TimedWake | Join | Start | End | Fence | WaitUntil | Blocked => {}
            // A notification was used up, which does not happen again.
            Wake | Spawn | Choose | Branch | Buffer => loops.affect(),
            _ => self.note_in_loops(accesses, event),
        }
    }

    /// The running thread has updated an atomic: `silent` if its value is what it was.
    pub fn note_update_in_loops(&mut self, location: LocationId, event: bool, silent: bool) {
        let reads = [Access { location, mode: AccessMode::Read }];
        match (silent, event) {
            (true, true) => self.note_silent_event_in_loops(&reads),
            (true, false) => self.note_in_loops(&reads, EventId::NONE),
            (false, _) => self.affect_loops(),
        }
    }

    /// The running thread's last event, which could have changed something, has only read.
    pub fn note_silent_event_in_loops(&mut self, reads: &[Access]) {
        let id = EventId((self.driver.position() as u32).saturating_sub(1));
        self.waits.spins.silent_writes.push(id);
        self.note_in_loops(reads, id);
    }

    /// The running thread has evaluated the predicate of a `wait_until`, as the loop `token`: what it waits for if that
    /// was false, and how many events the evaluation was; None if the predicate had a side effect.
    pub fn looked(&mut self, token: u64) -> PyResult<Option<(Spin, usize)>> {
        if self.phase != Phase::Running {
            return Err(Host::aborted());
        }
        let current = self.current;
        let loops = &mut self.thread(current).loops;
        let Some(position) = loops.watches.iter().rposition(|watch| watch.token == token) else { return Ok(None) };
        let (reads_from, locks_from) = (loops.watches[position].reads_from, loops.watches[position].locks_from);
        let events: FxHashSet<EventId> = loops.reads[reads_from..].iter().map(|(_, event)| *event).collect();
        let looks = events.iter().filter(|event| **event != EventId::NONE).count();
        let reads = loops.reads_since(reads_from);
        let released = loops.balance(locks_from).unwrap_or_default();
        loops.watches.truncate(position);
        Ok(Some((Spin { reads, released, waits: true }, looks)))
    }

    /// What stands for the run through a loop that the running thread begins.
    pub fn next_loop(&mut self) -> u64 {
        // A generator takes the number along to other threads.
        self.waits.spins.tokens += 1;
        self.waits.spins.tokens
    }

    /// What the head of the loop `token` has to do; None if the iteration had a side effect.
    fn at_head(&mut self, token: u64) -> Head {
        let current = self.current;
        let loops = &mut self.thread(current).loops;
        let (reads_from, locks_from) = (loops.reads.len(), loops.locks.len());
        let Some(position) = loops.watches.iter().rposition(|watch| watch.token == token) else {
            // Loops further in are over; those further out have smaller tokens.
            let inner = loops.watches.partition_point(|watch| watch.token < token);
            loops.ended.extend(loops.watches.drain(inner..));
            loops.watches.push(Watch::new(token, reads_from, locks_from));
            return Head::GoOn;
        };
        loops.ended.extend(loops.watches.drain(position + 1..));
        let Some(watch) = loops.watches.last_mut() else { return Head::GoOn };
        match watch.locals.take() {
            Some(locals) => Head::Compare(locals),
            None if watch.patience > 0 => {
                watch.patience -= 1;
                (watch.reads_from, watch.locks_from) = (reads_from, locks_from);
                Head::GoOn
            }
            None => {
                (watch.reads_from, watch.locks_from) = (reads_from, locks_from);
                Head::Keep
            }
        }
    }

    /// The local variables at the head of the innermost loop are those of the last time, or not: keep the new ones.
    /// Returns what the thread spins on, if the iteration was pure but for looks at a clock.
    fn compared(&mut self, same: bool, locals: Locals) -> Option<Spin> {
        let current = self.current;
        let loops = &mut self.thread(current).loops;
        let (reads_to, locks_to) = (loops.reads.len(), loops.locks.len());
        let (reads_from, locks_from) = loops.watches.last().map(|watch| (watch.reads_from, watch.locks_from))?;
        let released = if same { loops.balance(locks_from) } else { None };
        let spin = released.map(|released| Spin { reads: loops.reads_since(reads_from), released, waits: false });
        let watch = loops.watches.last_mut()?;
        (watch.reads_from, watch.locks_from) = (reads_to, locks_to);
        if same && spin.is_some() {
            watch.changes = 0;
            watch.locals = Some(locals);
        } else if std::mem::take(&mut watch.time_passed) {
            watch.locals = Some(locals);
        } else {
            // A loop that counts something is looked at ever more rarely.
            watch.changes = (watch.changes + 1).min(10);
            watch.patience = (1 << watch.changes) - 1;
        }
        spin
    }
}

impl Host {
    fn note_sleep(&self, did: bool) -> bool {
        let mut state = self.state();
        let current = state.current;
        state.thread(current).loops.deadlines.note_sleep(did)
    }

    /// The thread came back to the head of a loop as it was: let it stop or wait.
    pub fn spin(&self, py: Python<'_>, spin: Spin) -> PyResult<()> {
        if self.state().looks_between_sections() {
            return self.leave(py, End::Cut);
        }
        let word = if spin.waits { Word::WaitUntil } else { Word::Spin };
        let (me, waits) = {
            let mut state = self.state();
            for (read, _) in &spin.reads {
                if !state.is_visible(read.location) {
                    state.make_visible(read.location);
                }
            }
            let me = state.current;
            let may_go_on = state.can_go_on(me, &spin);
            state.thread(me).loops.spin = Some(spin);
            if state.exploration.settings.spins_wait {
                if may_go_on {
                    state.thread(me).loops.spin = None;
                    return Ok(());
                }
                state.driver.threads.count_predicate_waiter(1);
            }
            (me, state.exploration.settings.spins_wait)
        };
        self.note_waiting(py, word, None);
        if !waits {
            return self.stop_for_good(py);
        }
        let operation = Operation::new(OperationKind::WaitUntil, LocationId::NONE, 0);
        let performed = self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()));
        {
            let mut state = self.state();
            state.driver.threads.count_predicate_waiter(-1);
            if performed.is_ok() {
                state.thread(me).loops.spin = None;
            }
        }
        performed?;
        self.note(py, Word::Spin, None, None, None, true);
        Ok(())
    }
}

#[pymethods]
impl Host {
    /// A loop is about to begin. Returns what stands for this run through it.
    pub fn enter_loop(&self) -> u64 {
        let Some(mut state) = self.awake() else { return 0 };
        if state.phase != Phase::Running {
            return 0;
        }
        let token = state.next_loop();
        let current = state.current;
        let loops = &mut state.thread(current).loops;
        let (reads_from, locks_from) = (loops.reads.len(), loops.locks.len());
        loops.watches.push(Watch::new(token, reads_from, locks_from));
        token
    }

    /// The thread is at the head of a loop, before its condition. Always True.
    #[pyo3(signature = (token, /))]
    fn at_loop_head(&self, py: Python<'_>, token: u64) -> PyResult<bool> {
        let (head, turn, ended) = {
            let Some(mut state) = self.awake() else { return Ok(true) };
            if token == 0 || state.phase != Phase::Running {
                return Ok(true);
            }
            let head = state.at_head(token);
            let current = state.current;
            let thread = state.thread(current);
            let turn = thread.loops.deadlines.turn(token, thread.time, false);
            (head, turn, std::mem::take(&mut thread.loops.ended))
        };
        drop(ended);
        let spin = match head {
            Head::GoOn => None,
            Head::Keep => {
                let kept = locals(py)?;
                let mut state = self.state();
                let current = state.current;
                if let Some(watch) = state.thread(current).loops.watches.last_mut() {
                    watch.locals = Some(kept);
                }
                None
            }
            Head::Compare(before) => {
                let now = locals(py)?;
                let same = same_state(py, &before, &now)?;
                self.state().compared(same, now)
            }
        };
        let only_slept = turn == Turn::Moved && self.note_sleep(spin.is_none());
        match (spin, turn) {
            (Some(spin), Turn::Timeless) => self.spin(py, spin)?,
            (Some(_), Turn::Moved) if !only_slept => {}
            (Some(_), Turn::Looked | Turn::Idle | Turn::Moved) => {
                let current = self.state().current;
                if let Some(watch) = self.state().thread(current).loops.watches.last_mut() {
                    watch.time_passed = true;
                }
                self.pass_time_in_loop(py);
            }
            (None, Turn::Idle) => self.pass_time_in_loop(py),
            _ => {}
        }
        Ok(true)
    }
}
