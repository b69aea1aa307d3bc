//! The state of synchronisation primitives and the rules of their operations, the same under every memory model.
//!
//! Semantics are those of CPython's `threading` and `queue`: a condition wakes its waiters in FIFO order, a waiter
//! that timed out stays in the queue until it holds the lock again, a plain lock may be released by any thread.

use std::collections::VecDeque;

use smallvec::smallvec;

use super::{Effect, Misuse};
use crate::execution::Event;
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};

/// A thread in the queue of a condition or an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub thread: ThreadId,
    /// How often a re-entrant lock was held when the wait began.
    pub depth: u32,
    /// Where a notification and the end of a timed wait conflict; NONE for a wait without time-out.
    pub slot: LocationId,
    /// The event that woke it; NONE while it waits.
    pub woken_by: EventId,
}

/// The state of one primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrimitiveState {
    /// `taken` counts how often it was acquired.
    Mutex {
        owner: Option<ThreadId>,
        depth: u32,
        reentrant: bool,
        taken: u32,
    },
    Condition {
        waiters: VecDeque<Waiter>,
    },
    Semaphore {
        value: u32,
        bound: Option<u32>,
    },
    Flag {
        set: bool,
        waiters: Vec<Waiter>,
    },
    Channel {
        length: u32,
    },
}

/// All primitives of the current execution, by location.
#[derive(Default)]
pub struct Primitives {
    states: Vec<Option<PrimitiveState>>,
    /// The locations in use, so that a reset costs what the execution used.
    used: Vec<LocationId>,
}

fn write(location: LocationId) -> Accesses {
    smallvec![Access { location, mode: AccessMode::Write }]
}

fn read(location: LocationId) -> Accesses {
    smallvec![Access { location, mode: AccessMode::Read }]
}

impl Primitives {
    pub fn reset(&mut self) {
        for location in self.used.drain(..) {
            self.states[location.index()] = None;
        }
    }

    pub fn create(&mut self, location: LocationId, state: PrimitiveState) {
        if self.states.len() <= location.index() {
            self.states.resize(location.index() + 1, None);
        }
        if self.states[location.index()].is_none() {
            self.used.push(location);
        }
        self.states[location.index()] = Some(state);
    }

    pub fn get(&self, location: LocationId) -> Option<&PrimitiveState> {
        self.states.get(location.index()).and_then(Option::as_ref)
    }

    fn get_mut(&mut self, location: LocationId) -> Option<&mut PrimitiveState> {
        self.states.get_mut(location.index()).and_then(Option::as_mut)
    }

    pub fn owner(&self, location: LocationId) -> Option<ThreadId> {
        match self.get(location) {
            Some(PrimitiveState::Mutex { owner, .. }) => *owner,
            _ => None,
        }
    }

    /// The waiter entry of `thread` in the condition or flag at `location`.
    pub fn waiter(&self, location: LocationId, thread: ThreadId) -> Option<&Waiter> {
        match self.get(location) {
            Some(PrimitiveState::Condition { waiters }) => waiters.iter().find(|w| w.thread == thread),
            Some(PrimitiveState::Flag { waiters, .. }) => waiters.iter().find(|w| w.thread == thread),
            _ => None,
        }
    }

    fn is_woken(&self, location: LocationId, thread: ThreadId) -> bool {
        self.waiter(location, thread).is_some_and(|w| w.woken_by != EventId::NONE)
    }

    fn mutex_free_for(&self, location: LocationId, thread: ThreadId) -> bool {
        match self.get(location) {
            Some(PrimitiveState::Mutex { owner, reentrant, .. }) => {
                owner.is_none() || (*reentrant && *owner == Some(thread))
            }
            _ => true,
        }
    }

    fn count(&self, location: LocationId) -> u32 {
        match self.get(location) {
            Some(PrimitiveState::Semaphore { value, .. }) => *value,
            Some(PrimitiveState::Channel { length }) => *length,
            Some(PrimitiveState::Flag { set, .. }) => u32::from(*set),
            Some(PrimitiveState::Mutex { owner, .. }) => owner.map_or(0, |thread| thread.0 + 1),
            _ => 0,
        }
    }

    pub fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool {
        use OperationKind::*;
        match operation.kind {
            Acquire => self.mutex_free_for(operation.target, thread),
            Wake => {
                self.is_woken(LocationId(operation.detail), thread) && self.mutex_free_for(operation.target, thread)
            }
            SemaphoreAcquire | ChannelGet => self.count(operation.target) > 0,
            // A registered waiter goes on once it was woken, even if the flag was cleared again since.
            FlagWait => match self.waiter(operation.target, thread) {
                Some(waiter) => waiter.woken_by != EventId::NONE,
                None => self.count(operation.target) > 0,
            },
            Blocked => false,
            _ => true,
        }
    }

    pub fn accesses(&self, thread: ThreadId, operation: &Operation) -> Accesses {
        use OperationKind::*;
        let target = operation.target;
        match operation.kind {
            Acquire | Release | Wake | SemaphoreAcquire | SemaphoreRelease | FlagSet | FlagClear | ChannelPut
            | ChannelGet | Wait => write(target),
            TryAcquire if self.mutex_free_for(target, thread) => write(target),
            SemaphoreTryAcquire | ChannelTryGet if self.count(target) > 0 => write(target),
            TryAcquire | SemaphoreTryAcquire | ChannelTryGet | FlagRead | FlagWait => read(target),
            // A timed waiter's slot is its own; the wait for the lock afterwards is a separate acquire.
            TimedWake => write(target),
            Notify => self.notify_accesses(operation),
            _ => Accesses::new(),
        }
    }

    fn notify_accesses(&self, operation: &Operation) -> Accesses {
        match self.get(operation.target) {
            Some(PrimitiveState::Condition { waiters }) => waiters
                .iter()
                .filter(|w| w.woken_by == EventId::NONE && w.slot != LocationId::NONE)
                .take(operation.detail as usize)
                .map(|w| Access { location: w.slot, mode: AccessMode::Write })
                .collect(),
            _ => Accesses::new(),
        }
    }

    pub fn state_token(&self, operation: &Operation) -> u32 {
        if operation.target == LocationId::NONE {
            0
        } else {
            self.count(operation.target)
        }
    }

    pub fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect {
        use OperationKind::*;
        match operation.kind {
            Acquire | TryAcquire => self.acquire(thread, operation.target),
            Release => self.release(thread, operation.target),
            Wait => self.wait(thread, operation.target, LocationId(operation.detail)),
            Wake => self.wake(thread, operation.target, LocationId(operation.detail)),
            TimedWake => {
                let woken = self.is_woken(LocationId(operation.detail), thread);
                Effect::Done(u32::from(woken))
            }
            Notify => self.notify(operation.target, operation.detail, event),
            SemaphoreAcquire | SemaphoreTryAcquire => match self.get_mut(operation.target) {
                Some(PrimitiveState::Semaphore { value, .. }) if *value > 0 => {
                    *value -= 1;
                    Effect::Done(1)
                }
                _ => Effect::Done(0),
            },
            SemaphoreRelease => match self.get_mut(operation.target) {
                Some(PrimitiveState::Semaphore { value, bound }) => {
                    if bound.is_some_and(|bound| *value + operation.detail > bound) {
                        return Effect::Misused(Misuse::ReleaseTooOften);
                    }
                    *value += operation.detail;
                    Effect::Done(1)
                }
                _ => Effect::Done(0),
            },
            FlagSet | FlagClear => {
                if let Some(PrimitiveState::Flag { set, waiters }) = self.get_mut(operation.target) {
                    *set = operation.kind == FlagSet;
                    if *set {
                        for waiter in waiters.iter_mut().filter(|w| w.woken_by == EventId::NONE) {
                            waiter.woken_by = event;
                        }
                    }
                }
                Effect::Done(0)
            }
            FlagRead => Effect::Done(self.count(operation.target)),
            FlagWait => {
                if let Some(PrimitiveState::Flag { waiters, .. }) = self.get_mut(operation.target) {
                    waiters.retain(|w| w.thread != thread);
                }
                Effect::Done(1)
            }
            ChannelPut => {
                if let Some(PrimitiveState::Channel { length }) = self.get_mut(operation.target) {
                    *length += 1;
                }
                Effect::Done(1)
            }
            ChannelGet | ChannelTryGet => match self.get_mut(operation.target) {
                Some(PrimitiveState::Channel { length }) if *length > 0 => {
                    *length -= 1;
                    Effect::Done(1)
                }
                _ => Effect::Done(0),
            },
            _ => Effect::Done(0),
        }
    }

    fn acquire(&mut self, thread: ThreadId, location: LocationId) -> Effect {
        if !self.mutex_free_for(location, thread) {
            return Effect::Done(0);
        }
        if let Some(PrimitiveState::Mutex { owner, depth, taken, .. }) = self.get_mut(location) {
            *owner = Some(thread);
            *depth += 1;
            *taken += 1;
        }
        Effect::Done(1)
    }

    fn release(&mut self, thread: ThreadId, location: LocationId) -> Effect {
        match self.get_mut(location) {
            Some(PrimitiveState::Mutex { owner, depth, reentrant, .. }) => {
                if owner.is_none() {
                    return Effect::Misused(Misuse::ReleaseUnheld);
                }
                if *reentrant && *owner != Some(thread) {
                    return Effect::Misused(Misuse::ReleaseByOther);
                }
                *depth -= 1;
                if *depth == 0 {
                    *owner = None;
                }
                Effect::Done(1)
            }
            _ => Effect::Done(0),
        }
    }

    fn wait(&mut self, thread: ThreadId, lock: LocationId, condition: LocationId) -> Effect {
        if self.owner(lock) != Some(thread) {
            return Effect::Misused(Misuse::WaitUnheld);
        }
        if let Some(PrimitiveState::Mutex { owner, depth, .. }) = self.get_mut(lock) {
            let held = std::mem::take(depth);
            *owner = None;
            self.enqueue(condition, thread, held, LocationId::NONE);
        }
        Effect::Done(1)
    }

    /// Put a thread into the queue of a condition or flag; `slot` as in [`Waiter`].
    pub fn enqueue(&mut self, location: LocationId, thread: ThreadId, depth: u32, slot: LocationId) {
        let waiter = Waiter { thread, depth, slot, woken_by: EventId::NONE };
        match self.get_mut(location) {
            Some(PrimitiveState::Condition { waiters }) => waiters.push_back(waiter),
            Some(PrimitiveState::Flag { waiters, .. }) => waiters.push(waiter),
            _ => {}
        }
    }

    /// Note where the notification of a timed (or spuriously woken) waiter conflicts with the end of its wait.
    pub fn set_slot(&mut self, location: LocationId, thread: ThreadId, slot: LocationId) {
        if let Some(PrimitiveState::Condition { waiters }) = self.get_mut(location) {
            if let Some(waiter) = waiters.iter_mut().find(|w| w.thread == thread) {
                waiter.slot = slot;
            }
        }
    }

    fn wake(&mut self, thread: ThreadId, lock: LocationId, condition: LocationId) -> Effect {
        let depth = self.leave(condition, thread);
        if let Some(PrimitiveState::Mutex { owner, depth: held, taken, .. }) = self.get_mut(lock) {
            *owner = Some(thread);
            *held = depth.max(1);
            *taken += 1;
        }
        Effect::Done(1)
    }

    /// Take a waiter out of its queue; returns how often it had held the lock.
    pub fn leave(&mut self, condition: LocationId, thread: ThreadId) -> u32 {
        if let Some(PrimitiveState::Condition { waiters }) = self.get_mut(condition) {
            if let Some(position) = waiters.iter().position(|w| w.thread == thread) {
                return waiters.remove(position).map_or(1, |w| w.depth);
            }
        }
        1
    }

    /// Restore the depth of a re-entrant lock that a timed waiter has just taken again.
    pub fn restore_depth(&mut self, lock: LocationId, depth: u32) {
        if let Some(PrimitiveState::Mutex { depth: held, .. }) = self.get_mut(lock) {
            *held = depth;
        }
    }

    /// How often a lock has been acquired so far.
    pub fn times_taken(&self, lock: LocationId) -> u32 {
        match self.get(lock) {
            Some(PrimitiveState::Mutex { taken, .. }) => *taken,
            _ => 0,
        }
    }

    /// Whether some waiter that is still asleep could also end its wait by itself.
    pub fn has_timed_waiter(&self, condition: LocationId) -> bool {
        match self.get(condition) {
            Some(PrimitiveState::Condition { waiters }) => {
                waiters.iter().any(|w| w.woken_by == EventId::NONE && w.slot != LocationId::NONE)
            }
            _ => false,
        }
    }

    fn notify(&mut self, condition: LocationId, count: u32, event: EventId) -> Effect {
        let mut woken = 0;
        if let Some(PrimitiveState::Condition { waiters }) = self.get_mut(condition) {
            for waiter in waiters.iter_mut().filter(|w| w.woken_by == EventId::NONE) {
                if woken == count {
                    break;
                }
                waiter.woken_by = event;
                woken += 1;
            }
        }
        Effect::Done(woken)
    }

    /// The event before which `operation` of `thread` cannot have been enabled.
    pub fn enabler(&self, thread: ThreadId, operation: &Operation) -> EventId {
        let location = match operation.kind {
            OperationKind::Wake => LocationId(operation.detail),
            OperationKind::FlagWait => operation.target,
            _ => return EventId::NONE,
        };
        self.waiter(location, thread).map_or(EventId::NONE, |w| w.woken_by)
    }

    /// See [`super::MemoryModel::enabled_before`]. `earlier` touches the primary location of `event`, whose state
    /// before `earlier` is in `earlier.before`.
    pub fn enabled_before(event: &Event, earlier: &Event) -> bool {
        use OperationKind::*;
        if event.enabler != EventId::NONE && event.enabler >= earlier.id {
            return false;
        }
        if event.operation.target != earlier.operation.target {
            return true;
        }
        match event.operation.kind {
            Acquire | Wake => earlier.before == 0,
            SemaphoreAcquire | ChannelGet => earlier.before > 0,
            FlagWait if event.enabler == EventId::NONE => earlier.before > 0,
            _ => true,
        }
    }

    /// See [`super::MemoryModel::accesses_before`].
    pub fn accesses_before(event: &Event, earlier: &Event) -> Accesses {
        use OperationKind::*;
        let operation = &event.operation;
        if operation.target != earlier.operation.target {
            return event.accesses.clone();
        }
        match operation.kind {
            TryAcquire if earlier.before == 0 => write(operation.target),
            TryAcquire => read(operation.target),
            SemaphoreTryAcquire | ChannelTryGet if earlier.before > 0 => write(operation.target),
            SemaphoreTryAcquire | ChannelTryGet => read(operation.target),
            _ => event.accesses.clone(),
        }
    }
}
