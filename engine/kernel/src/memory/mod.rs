//! Memory models: what a visible operation does to the shared state, when it is enabled, what it conflicts with.
//!
//! A memory model knows nothing of exploration. Values live with whoever runs the program (CPython's own heap
//! under sequential consistency, and beside it for stores that are still in a store buffer); here is only the state
//! that decides enabledness and conflicts.

mod channels;
mod owned_locks;
mod past_state;
mod primitives;
mod relaxed;
mod sequential_consistency;
mod store_buffers;
mod waiting;

pub use channels::{items_in, Cells, Channel, MOST_ITEMS};
pub use owned_locks::{Claim, HoldersId, Outcome};
pub use primitives::{PrimitiveState, Primitives};
pub use relaxed::Relaxed;
pub use sequential_consistency::SequentialConsistency;
pub use store_buffers::{BufferDiscipline, StoreBuffers};
pub use waiting::Waiter;

use smallvec::SmallVec;

use crate::execution::Event;
use crate::operation::{Accesses, Buffering, EventId, LocationId, Operation, ThreadId};

/// What performing an operation led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It took place. The number is what the operation reports: 1 for a lock taken, 0 for one that was not.
    Done(u32),
    /// It took place in a store buffer; a later flush makes it visible to the others.
    Buffered,
    /// The primitive was misused; nothing changed.
    Misused(Misuse),
}

/// A use of a primitive that the standard library answers with an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    ReleaseUnheld,
    ReleaseByOther,
    WaitUnheld,
    NotifyUnheld,
    ReleaseTooOften,
    TaskDoneTooOften,
}

/// Events of other threads and agents that made an event possible.
pub type Awaited = SmallVec<[EventId; 2]>;

/// One memory model's rules. `location` state is created on first use and dropped by `reset`.
pub trait MemoryModel {
    /// The primitives of the running execution.
    fn primitives(&self) -> &Primitives;
    fn primitives_mut(&mut self) -> &mut Primitives;

    /// Forget the state of the last execution.
    fn reset(&mut self);

    /// Make a primitive known, with its initial state.
    fn create(&mut self, location: LocationId, state: PrimitiveState);

    /// Whether `thread` can perform `operation` now.
    fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool;

    /// The locations that `operation` would access if `thread` performed it now. Plain loads and stores bring their
    /// own accesses; this is asked for operations on primitives.
    fn accesses(&self, thread: ThreadId, operation: &Operation) -> Accesses;

    /// A number that stands for the state of the operation's primary location now. Events keep it, so that it can
    /// be told later whether another operation would have been enabled before them, and what it would have accessed.
    fn state_token(&self, operation: &Operation) -> u32;

    /// Perform the operation as the given event.
    fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect;

    /// Whether `event` would have been enabled just before `earlier`, an event that it conflicts with.
    fn enabled_before(&self, event: &Event, earlier: &Event) -> bool;

    /// What `event` would have accessed just before `earlier`.
    fn accesses_before(&self, event: &Event, earlier: &Event) -> Accesses;

    /// What `event` would access in the state in which `earlier` found its primary location.
    fn accesses_in_state_of(&self, event: &Event, earlier: &Event) -> Accesses;

    /// The thread that holds a lock, for reports.
    fn holder(&self, location: LocationId) -> Option<ThreadId>;

    /// Whether the operation is ordered with others on its location by what is read from what and by coherence alone.
    /// Such operations access nothing as far as the order of steps is concerned.
    fn is_relaxed(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether such operations read from a write that the explorer names, whatever was performed last.
    fn chooses_reads(&self) -> bool {
        false
    }

    /// Whether plain stores go through store buffers.
    fn buffers_stores(&self) -> bool {
        false
    }

    /// How `operation`, which `thread` has just come to, stands to the thread's store buffers.
    fn buffering(&self, _thread: ThreadId, operation: &Operation) -> Buffering {
        operation.buffering
    }

    /// Whether all stores of `thread` have reached memory.
    fn is_drained(&self, _thread: ThreadId) -> bool {
        true
    }

    /// Whether `thread` has stored into a buffer since it last waited for its buffers to drain. Unlike `is_drained`
    /// this depends on the thread's own steps alone.
    fn owes_drain(&self, _thread: ThreadId) -> bool {
        false
    }

    /// What the agent of a store buffer does next; None if the buffer is empty.
    fn next_flush(&self, _agent: ThreadId) -> Option<Operation> {
        None
    }

    /// The events besides the last of its thread without which `operation` of `thread` could not take place now.
    fn awaited(&self, _thread: ThreadId, _operation: &Operation) -> Awaited {
        Awaited::new()
    }
}
