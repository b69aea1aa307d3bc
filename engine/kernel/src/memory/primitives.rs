//! The state of synchronisation primitives and the rules of their operations, the same under every memory model.
//!
//! Semantics are those of CPython's `threading` and `queue`: a condition wakes its waiters in FIFO order, a waiter
//! that timed out stays in the queue until it holds the lock again, a plain lock may be released by any thread.

use std::collections::VecDeque;

use smallvec::smallvec;

use super::channels::Channel;
use super::owned_locks::{HolderSets, HoldersId};
use super::waiting::Waiter;
use super::{Effect, Misuse};
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};

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
    Channel(Channel),
    /// How a future has ended; `order` is that of the watch that the future is in.
    Ending {
        order: Option<LocationId>,
    },
    Owned {
        holders: HoldersId,
    },
}

/// All primitives of the current execution, by location.
#[derive(Default)]
pub struct Primitives {
    states: Vec<Option<PrimitiveState>>,
    /// The locations in use, so that a reset costs what the execution used.
    used: Vec<LocationId>,
    pub(super) holder_sets: HolderSets,
}

pub fn write(location: LocationId) -> Accesses {
    smallvec![Access { location, mode: AccessMode::Write }]
}

pub fn read(location: LocationId) -> Accesses {
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

    pub(super) fn get_mut(&mut self, location: LocationId) -> Option<&mut PrimitiveState> {
        self.states.get_mut(location.index()).and_then(Option::as_mut)
    }

    pub fn owner(&self, location: LocationId) -> Option<ThreadId> {
        match self.get(location) {
            Some(PrimitiveState::Mutex { owner, .. }) => *owner,
            _ => None,
        }
    }

    /// The locks that a thread holds.
    pub fn held_by(&self, thread: ThreadId) -> impl Iterator<Item = LocationId> + '_ {
        self.used.iter().copied().filter(move |location| self.owner(*location) == Some(thread))
    }

    fn mutex_free_for(&self, location: LocationId, thread: ThreadId) -> bool {
        match self.get(location) {
            Some(PrimitiveState::Mutex { owner, reentrant, .. }) => {
                owner.is_none() || (*reentrant && *owner == Some(thread))
            }
            _ => true,
        }
    }

    /// How often a lock has been acquired so far.
    pub fn times_taken(&self, lock: LocationId) -> u32 {
        match self.get(lock) {
            Some(PrimitiveState::Mutex { taken, .. }) => *taken,
            _ => 0,
        }
    }

    fn count(&self, location: LocationId) -> u32 {
        match self.get(location) {
            Some(PrimitiveState::Semaphore { value, .. }) => *value,
            Some(PrimitiveState::Channel(channel)) => channel.token(OperationKind::ChannelSize),
            Some(PrimitiveState::Owned { holders }) => holders.token(),
            Some(PrimitiveState::Flag { set, .. }) => u32::from(*set),
            Some(PrimitiveState::Mutex { owner, .. }) => owner.map_or(0, |thread| thread.0 + 1),
            _ => 0,
        }
    }

    pub fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool {
        use OperationKind::*;
        match operation.kind {
            kind if kind.is_of_channel() => self.channel_enabled(operation),
            Acquire => self.mutex_free_for(operation.target, thread),
            Wake => {
                self.is_woken(LocationId(operation.detail), thread) && self.mutex_free_for(operation.target, thread)
            }
            SemaphoreAcquire => self.count(operation.target) > 0,
            OwnedAcquire => self.admits(operation),
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
            kind if kind.is_of_channel() => self.channel_accesses(operation),
            Acquire | Release | Wake | SemaphoreAcquire | SemaphoreRelease | FlagSet | FlagClear | Wait
            | OwnedAcquire | OwnedRelease => write(target),
            OwnedTryAcquire if self.admits(operation) => write(target),
            TryAcquire if self.mutex_free_for(target, thread) => write(target),
            SemaphoreTryAcquire if self.count(target) > 0 => write(target),
            TryAcquire | SemaphoreTryAcquire | OwnedTryAcquire | FlagRead | FlagWait => read(target),
            // A timed waiter's slot is its own; the wait for the lock afterwards is a separate acquire.
            TimedWake => write(target),
            Notify => self.notify_accesses(operation),
            Settle => {
                let mut accesses = write(target);
                if let Some(PrimitiveState::Ending { order: Some(order) }) = self.get(target) {
                    accesses.push(Access { location: *order, mode: AccessMode::Write });
                }
                accesses
            }
            _ => Accesses::new(),
        }
    }

    pub fn state_token(&self, operation: &Operation) -> u32 {
        if operation.kind.is_of_channel() {
            self.channel_token(operation)
        } else if operation.target == LocationId::NONE {
            0
        } else {
            self.count(operation.target)
        }
    }

    pub fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect {
        use OperationKind::*;
        match operation.kind {
            kind if kind.is_of_channel() => self.channel_perform(thread, operation),
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
            OwnedAcquire | OwnedTryAcquire => self.claim(operation),
            OwnedRelease => self.give_up(operation),
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
            _ => Effect::Done(0),
        }
    }

    /// The future whose end this is the location of is watched from now on.
    pub fn watch(&mut self, ending: LocationId, by: LocationId) {
        if let Some(PrimitiveState::Ending { order }) = self.get_mut(ending) {
            *order = Some(by);
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
}
