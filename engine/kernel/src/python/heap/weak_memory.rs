//! Where a load gets its value, and where a store puts it, if the memory model keeps stores from other threads.
//!
//! Under sequential consistency the interpreter's own heap is memory. Under TSO and PSO a store to a location that is
//! visible does not access the Python object: its value is kept here, the thread's own loads find it, and the others
//! see the object as it was, until the flush writes it. Locations that are not visible need no buffer; why, is said in
//! `execution/epochs.rs`.

use std::rc::Rc;

use pyo3::prelude::*;

use crate::driver::Turn;
use crate::explorer::End;
use crate::operation::{
    AccessMode, Accesses, Buffering, EventId, LocationId, MemoryOrder, Operation, OperationKind, ThreadId,
};
use crate::python::explore::recording::Word;
use crate::python::heap::place::Place;
use crate::python::host::Host;
use crate::python::state::{Phase, State};
use crate::python::threads::run::Failure;
use crate::python::threads::switching::Footprint;

/// A store that is about to enter a buffer.
pub struct Store {
    pub location: LocationId,
    /// What it accesses.
    pub accesses: Accesses,
    pub order: MemoryOrder,
    pub place: Place,
    pub value: Py<PyAny>,
}

impl Store {
    /// What its flush accesses. Whether it makes the attribute is not known before, so that it counts as one that does
    /// for all who take the object as a whole.
    fn accesses(&self) -> Accesses {
        let mut accesses = self.accesses.clone();
        if matches!(self.place, Place::Attribute { .. }) {
            for access in accesses.iter_mut().filter(|access| access.mode == AccessMode::IntentWrite) {
                access.mode = AccessMode::Write;
            }
        }
        accesses
    }
}

/// A store that is in a buffer.
struct Buffered {
    owner: ThreadId,
    agent: ThreadId,
    number: u32,
    store: Store,
    /// For the detection of data races: what a release store publishes once it reaches memory.
    released: Option<Vec<u32>>,
}

/// A step of the schedule that is followed, as far as stores need it.
#[derive(Clone, Copy)]
pub struct ScheduledStep {
    pub thread: ThreadId,
    pub is_flush: bool,
    /// For a store that went through a buffer its number, else 0.
    pub number: u32,
}

/// The values that are in store buffers.
#[derive(Default)]
pub struct WeakMemory {
    /// Whether stores go through buffers.
    pub buffers_stores: bool,
    /// Whether a buffer is for one location (PSO).
    pub by_location: bool,
    /// The schedule that is followed: it says which stores went through a buffer.
    pub followed: Option<Vec<ScheduledStep>>,
    buffered: Vec<Buffered>,
    /// The stores that were flushed, by the event of the flush, if predicates may ask what was before.
    flushed: Vec<(EventId, Rc<Buffered>)>,
    /// Of those, the ones of one thread that are taken back for the moment.
    held_back: Vec<Rc<Buffered>>,
    /// What flushes replaced, by the thread whose store did: its destructor must not run wherever a flush happens to
    /// be, so the thread lets go of it when it next waits for its buffers, which comes after the flush in all
    /// executions.
    replaced: Vec<(ThreadId, u32, Py<PyAny>)>,
}

impl WeakMemory {
    pub fn new(buffers_stores: bool, by_location: bool, followed: Option<Vec<ScheduledStep>>) -> WeakMemory {
        WeakMemory { buffers_stores, by_location, followed, ..WeakMemory::default() }
    }

    /// What is left of an execution, to be dropped without a borrow of the state.
    pub fn take_all(&mut self) -> impl Sized {
        let flushed = std::mem::take(&mut self.flushed);
        (std::mem::take(&mut self.buffered), std::mem::take(&mut self.replaced), flushed)
    }

    /// What the buffers of the thread hold for the location; of several stores the youngest.
    fn youngest(&self, thread: ThreadId, location: LocationId) -> Option<&Buffered> {
        let held_back = self.held_back.iter().map(|held| &**held).chain(&self.buffered);
        let own = held_back.filter(|own| own.owner == thread && own.store.location == location);
        own.max_by_key(|own| own.number)
    }

    /// Until `release_held`: the stores of `thread` whose flushes are among the events are in its buffers again.
    pub fn hold_back(&mut self, thread: ThreadId, events: &[EventId]) {
        let own = self.flushed.iter().filter(|(event, store)| store.owner == thread && events.contains(event));
        self.held_back = own.map(|(_, store)| store.clone()).collect();
    }

    pub fn release_held(&mut self) {
        self.held_back.clear();
    }
}

impl State {
    /// Whether a plain store to the location that the running thread has come to goes through a store buffer.
    pub fn is_buffered(&self, location: LocationId) -> bool {
        if !self.heap.weak.buffers_stores || self.phase != Phase::Running {
            return false;
        }
        match &self.heap.weak.followed {
            Some(steps) => {
                let rest = steps.get(self.exploration.recording.steps.get()..).unwrap_or_default();
                let own = rest.iter().find(|step| step.thread == self.current && !step.is_flush);
                own.map_or_else(|| self.is_visible(location), |step| step.number > 0)
            }
            None => self.is_visible(location),
        }
    }

    /// After an operation that waited for the thread's buffers: what their flushes replaced.
    pub fn replaced_before_drain(&mut self, thread: ThreadId) -> Vec<Py<PyAny>> {
        if self.heap.weak.replaced.is_empty()
            || self.driver.threads.get(thread).pending.buffering != Buffering::Drains
        {
            return Vec::new();
        }
        let mut own: Vec<(u32, Py<PyAny>)> = Vec::new();
        let mut others = Vec::new();
        for (owner, number, value) in std::mem::take(&mut self.heap.weak.replaced) {
            if owner == thread {
                own.push((number, value));
            } else {
                others.push((owner, number, value));
            }
        }
        self.heap.weak.replaced = others;
        own.sort_by_key(|(number, _)| *number);
        own.into_iter().map(|(_, value)| value).collect()
    }
}

impl Host {
    /// What the running thread's own buffers hold for the location; None if its value is in memory.
    #[inline]
    pub fn forwarded<'py>(&self, py: Python<'py>, location: LocationId) -> Option<Bound<'py, PyAny>> {
        let state = self.state();
        if !state.heap.weak.buffers_stores {
            return None;
        }
        let own = state.heap.weak.youngest(state.current, location)?;
        Some(own.store.value.bind(py).clone())
    }

    /// The running thread stores into a buffer.
    pub fn buffer_store(&self, py: Python<'_>, store: Store) -> PyResult<()> {
        let operation = {
            let mut state = self.state();
            let current = state.current;
            let place = if state.heap.weak.by_location { store.location } else { LocationId::NONE };
            let agent = state.identities.agent(current, place);
            let Store { location, order, .. } = store;
            Operation { order, ..Operation::new(OperationKind::Buffer, location, agent.0) }
        };
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
        let (target, key) = store.place.names(py);
        let value = store.value.clone_ref(py);
        let number = {
            let mut state = self.state();
            let owner = state.current;
            let number = match state.driver.threads.get(owner).pending.buffering {
                Buffering::Enters { number } => number,
                _ => 0,
            };
            let released = match store.place {
                Place::Atomic { .. } => state.exploration.races.detector.as_mut().map(|races| races.release(owner)),
                _ => {
                    state.plain_access(&store.accesses);
                    None
                }
            };
            let agent = ThreadId(operation.detail);
            state.heap.weak.buffered.push(Buffered { owner, agent, number, store, released });
            number
        };
        let (target, key, value) = (target.bind(py), key.as_ref().map(|key| key.bind(py)), value.bind(py));
        self.note_buffered(py, Some(target), key, Some(value), number);
        Ok(())
    }

    /// Let the agents of store buffers act until it is the turn of a thread, or the execution has ended.
    pub fn flush_until_turn(&self, py: Python<'_>, mut turn: Turn) -> PyResult<Result<ThreadId, End>> {
        loop {
            match turn {
                Turn::Run(thread) => return Ok(Ok(thread)),
                Turn::End(end) => return Ok(Err(end)),
                Turn::Flush(agent) => {
                    if !self.flush(py, agent)? {
                        return Ok(Err(End::Cut));
                    }
                    if self.state().driver.threads.waits_for_predicates() {
                        self.evaluate_predicates(py)?;
                    }
                    turn = self.state().driver.next_turn();
                }
            }
        }
    }

    /// The oldest store of the agent's buffer reaches memory. Returns whether the execution goes on.
    fn flush(&self, py: Python<'_>, agent: ThreadId) -> PyResult<bool> {
        let buffered = {
            let mut state = self.state();
            let position = state.heap.weak.buffered.iter().position(|buffered| buffered.agent == agent);
            let Some(position) = position else { return Ok(false) };
            let buffered = state.heap.weak.buffered.remove(position);
            let footprint = buffered.store.accesses().into_iter().filter(|access| state.is_visible(access.location));
            let mut footprint = Footprint::of(footprint.collect());
            footprint.before = Some(buffered.store.place.token(py, &mut state));
            let operation = state.driver.threads.get(agent).pending;
            state.order_joint_writes(&operation, &mut footprint);
            if state.driver.commit(agent, footprint.accesses, footprint.before).is_err() {
                return Ok(false);
            }
            if let (Some(races), Some(released)) = (&mut state.exploration.races.detector, &buffered.released) {
                races.publish(buffered.store.location, released);
            }
            Rc::new(buffered)
        };
        let Buffered { owner, number, store, .. } = &*buffered;
        let (owner, number) = (*owner, *number);
        if self.keeps_undo() {
            if let Some(undo) = store.place.undo(py)? {
                self.keep_undo(undo);
            }
            let mut state = self.state();
            let event = EventId((state.driver.position() as u32).saturating_sub(1));
            state.heap.weak.flushed.push((event, buffered.clone()));
        }
        match store.place.write(py, &store.value) {
            Ok(replaced) => {
                let mut state = self.state();
                state.heap.weak.replaced.extend(replaced.map(|value| (owner, number, value)));
            }
            Err(error) => {
                let exception = error.into_value(py).into_any();
                self.state().run.failures.push(Failure { thread: owner, exception });
            }
        }
        let (target, key) = store.place.names(py);
        let key = key.as_ref().map(|key| key.bind(py));
        self.note_flush(py, owner, Some(target.bind(py)), key, Some(store.value.bind(py)), number);
        let state = self.state();
        let failed = state.exploration.settings.stop_at_failure && !state.run.failures.is_empty();
        Ok(!state.run.halted && !failed)
    }

    /// Before an operation that waits for the thread's store buffers and need not be an event: wait for them, if the
    /// thread has stored into one since it last did.
    #[inline]
    pub fn drain_if_owed(&self, py: Python<'_>) -> PyResult<()> {
        {
            let state = self.state();
            if state.heap.reads.objects_are_fences {
                drop(state);
                return self.fence_if_owed(py);
            }
            let owes = state.heap.weak.buffers_stores
                && state.phase == Phase::Running
                && state.driver.memory.owes_drain(state.current);
            if !owes {
                return Ok(());
            }
        }
        let operation = Operation::new(OperationKind::Fence, LocationId::NONE, 0);
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new())).map(drop)
    }

    /// No later store of the running thread reaches memory before those so far.
    pub fn store_barrier(&self) {
        let mut state = self.state();
        if state.heap.weak.buffers_stores && state.phase == Phase::Running {
            let fence = Operation::new(OperationKind::Fence, LocationId::NONE, 0);
            let current = state.current;
            state.driver.quiet_perform(current, &Operation { order: MemoryOrder::Release, ..fence });
        }
    }

    /// `dpor.fence`.
    pub fn perform_fence(&self, py: Python<'_>, order: MemoryOrder) -> PyResult<()> {
        let (buffers, chooses, explores) = {
            let state = self.state();
            let runs = state.phase == Phase::Running;
            (state.heap.weak.buffers_stores && runs, state.heap.reads.enabled && runs, state.explores_reads())
        };
        if chooses {
            // A schedule that is followed says itself what is read, and needs no fences.
            let event = explores && order != MemoryOrder::Relaxed;
            let operation = Operation { order, ..Operation::new(OperationKind::Fence, LocationId::NONE, 0) };
            if event {
                self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
            } else {
                self.state().synchronise(&operation);
            }
            self.note(py, Word::Fence, None, None, None, event);
            return Ok(());
        }
        if !buffers {
            return Ok(());
        }
        let event = match order {
            MemoryOrder::SequentiallyConsistent => {
                let owed = {
                    let state = self.state();
                    state.driver.memory.owes_drain(state.current)
                };
                self.drain_if_owed(py)?;
                owed
            }
            MemoryOrder::Release | MemoryOrder::AcquireRelease => {
                self.store_barrier();
                false
            }
            MemoryOrder::Relaxed | MemoryOrder::Acquire => false,
        };
        self.note(py, Word::Fence, None, None, None, event);
        Ok(())
    }

    /// Whether a plain store of the running thread to the location goes through a store buffer.
    #[inline]
    pub fn is_buffered(&self, location: LocationId) -> bool {
        self.state().is_buffered(location)
    }
}
