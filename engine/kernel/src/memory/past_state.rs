//! What an operation would have been a little earlier: what the reversal of a race has to know of a primitive's past.

use super::owned_locks::{Claim, HoldersId};
use super::primitives::{read, write, Primitives};
use crate::execution::Event;
use crate::operation::{Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};

impl Primitives {
    /// The event before which `operation` of `thread` cannot have been enabled.
    pub fn enabler(&self, thread: ThreadId, operation: &Operation) -> EventId {
        let location = match operation.kind {
            OperationKind::Wake => LocationId(operation.detail),
            OperationKind::FlagWait => operation.target,
            _ => return EventId::NONE,
        };
        self.waiter(location, thread).map_or(EventId::NONE, |w| w.woken_by)
    }

    /// See [`super::MemoryModel::enabled_before`]. `earlier` accesses the primary location of `event`, whose state
    /// before `earlier` is in `earlier.before`.
    pub fn enabled_before(&self, event: &Event, earlier: &Event) -> bool {
        use OperationKind::*;
        if event.enabler != EventId::NONE && event.enabler >= earlier.id {
            return false;
        }
        if event.operation.kind.is_of_channel() {
            return self.channel_enabled_before(event, earlier);
        }
        if event.operation.target != earlier.operation.target {
            return true;
        }
        match event.operation.kind {
            Acquire | Wake => earlier.before == 0,
            SemaphoreAcquire => earlier.before > 0,
            OwnedAcquire => {
                self.holder_sets.admits(HoldersId::from_token(earlier.before), Claim::of(&event.operation))
            }
            FlagWait if event.enabler == EventId::NONE => earlier.before > 0,
            _ => true,
        }
    }

    /// See [`super::MemoryModel::accesses_before`].
    pub fn accesses_before(&self, event: &Event, earlier: &Event) -> Accesses {
        use OperationKind::*;
        let operation = &event.operation;
        if operation.kind.is_of_channel() {
            return self.channel_accesses_before(event, earlier);
        }
        if operation.target != earlier.operation.target {
            return event.accesses.clone();
        }
        match operation.kind {
            TryAcquire if earlier.before == 0 => write(operation.target),
            TryAcquire => read(operation.target),
            SemaphoreTryAcquire if earlier.before > 0 => write(operation.target),
            SemaphoreTryAcquire => read(operation.target),
            OwnedTryAcquire => {
                match self.holder_sets.admits(HoldersId::from_token(earlier.before), Claim::of(operation)) {
                    true => write(operation.target),
                    false => read(operation.target),
                }
            }
            _ => event.accesses.clone(),
        }
    }
}
