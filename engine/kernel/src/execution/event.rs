//! One visible operation that has taken place.

use crate::memory::Awaited;
use crate::operation::{Accesses, Choice, EventId, Operation, ThreadId};

#[derive(Clone, Debug)]
pub struct Event {
    pub id: EventId,
    pub thread: ThreadId,
    /// Its number among the events of its thread, from 0.
    pub index: u32,
    pub operation: Operation,
    /// Which alternative of a drawn value it got.
    pub outcome: u32,
    pub accesses: Accesses,
    /// The previous event of the thread, or the spawn that started it; NONE for the first of `main`.
    pub program_order: EventId,
    /// For a join: the last event of the joined thread.
    pub joined: EventId,
    /// The flushes that it waited for, and for a flush the store that it carries out.
    pub awaited: Awaited,
    /// The event before which it cannot have been enabled, whatever its primary location held; NONE if there is none.
    pub enabler: EventId,
    /// The state token of its primary location just before it; see `MemoryModel::state_token`.
    pub before: u32,
    /// The write that it reads from, `EventId::NONE` for the initial value; None where that is whatever memory holds.
    pub reads: Option<EventId>,
    /// How many alternatives it had to draw from; 1 for an operation with one outcome.
    pub alternatives: u32,
    pub values: Values,
}

/// Tokens of what the primary location of an event held just before it and just after; equal tokens stand for equal
/// values. None for values that equal nothing else, and where no explorer asks.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Values {
    pub found: Option<u32>,
    pub left: Option<u32>,
}

impl Event {
    /// A load (or read-modify-write) that a thread is about to perform, as its next event.
    pub fn of_load(thread: ThreadId, index: u32, operation: Operation) -> Event {
        Event {
            id: EventId::NONE,
            thread,
            index,
            operation,
            outcome: 0,
            accesses: Accesses::new(),
            program_order: EventId::NONE,
            joined: EventId::NONE,
            awaited: Awaited::new(),
            enabler: EventId::NONE,
            before: 0,
            reads: None,
            alternatives: 1,
            values: Values::default(),
        }
    }

    /// Whose event it is; a flush belongs to the thread that stored.
    #[inline]
    pub fn owner(&self) -> ThreadId {
        self.operation.owner(self.thread)
    }

    /// Whether the events conflict if their accesses do. A flush does not conflict with the operations of its own
    /// thread (only with its other flushes): what they have to wait for is in `awaited`.
    #[inline]
    pub fn can_conflict(&self, other: &Event) -> bool {
        let both_flush = || self.operation.is_flush() && other.operation.is_flush();
        self.owner() != other.owner() || self.thread == other.thread || both_flush()
    }

    /// The events that have to come before it whatever it accesses.
    pub fn predecessors(&self) -> impl Iterator<Item = EventId> + '_ {
        let fixed = [self.program_order, self.joined].into_iter();
        fixed.filter(|event| *event != EventId::NONE).chain(self.awaited.iter().copied())
    }

    /// The choice that led to this event.
    pub fn choice(&self) -> Choice {
        match self.reads {
            Some(write) => Choice::ReadFrom { thread: self.thread, write },
            None => Choice::of(self.thread, &self.operation, self.outcome),
        }
    }
}
