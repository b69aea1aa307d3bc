//! Who waits for a condition or an event, and how a wait begins and ends.
//!
//! A condition wakes its waiters in FIFO order. A waiter that timed out stays in the queue until it holds the lock
//! again, as in CPython, so that a notification can still be spent on it.

use super::primitives::{PrimitiveState, Primitives};
use super::{Effect, Misuse};
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, ThreadId};

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

impl Primitives {
    /// The waiter entry of `thread` in the condition or flag at `location`.
    pub fn waiter(&self, location: LocationId, thread: ThreadId) -> Option<&Waiter> {
        match self.get(location) {
            Some(PrimitiveState::Condition { waiters }) => waiters.iter().find(|w| w.thread == thread),
            Some(PrimitiveState::Flag { waiters, .. }) => waiters.iter().find(|w| w.thread == thread),
            _ => None,
        }
    }

    pub(super) fn is_woken(&self, location: LocationId, thread: ThreadId) -> bool {
        self.waiter(location, thread).is_some_and(|w| w.woken_by != EventId::NONE)
    }

    pub(super) fn notify_accesses(&self, operation: &Operation) -> Accesses {
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

    pub(super) fn wait(&mut self, thread: ThreadId, lock: LocationId, condition: LocationId) -> Effect {
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

    pub(super) fn wake(&mut self, thread: ThreadId, lock: LocationId, condition: LocationId) -> Effect {
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

    /// Whether some waiter that is still asleep could also end its wait by itself.
    pub fn has_timed_waiter(&self, condition: LocationId) -> bool {
        match self.get(condition) {
            Some(PrimitiveState::Condition { waiters }) => {
                waiters.iter().any(|w| w.woken_by == EventId::NONE && w.slot != LocationId::NONE)
            }
            _ => false,
        }
    }

    pub(super) fn notify(&mut self, condition: LocationId, count: u32, event: EventId) -> Effect {
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
}
