//! Sequential consistency: an operation takes effect for everybody at the moment it is performed.

use smallvec::smallvec;

use super::{Effect, MemoryModel, PrimitiveState, Primitives};
use crate::execution::Event;
use crate::operation::{
    Access, AccessMode, Accesses, Choice, EventId, LocationId, Operation, OperationKind, ThreadId,
};

#[derive(Default)]
pub struct SequentialConsistency {
    primitives: Primitives,
}

impl MemoryModel for SequentialConsistency {
    fn primitives(&self) -> &Primitives {
        &self.primitives
    }

    fn primitives_mut(&mut self) -> &mut Primitives {
        &mut self.primitives
    }

    fn reset(&mut self) {
        self.primitives.reset();
    }

    fn create(&mut self, location: LocationId, state: PrimitiveState) {
        self.primitives.create(location, state);
    }

    fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool {
        self.primitives.enabled(thread, operation)
    }

    fn accesses(&self, thread: ThreadId, operation: &Operation) -> Accesses {
        self.primitives.accesses(thread, operation)
    }

    fn state_token(&self, operation: &Operation) -> u32 {
        self.primitives.state_token(operation)
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect {
        self.primitives.perform(thread, operation, event)
    }

    fn enabled_before(&self, event: &Event, earlier: &Event) -> bool {
        Primitives::enabled_before(event, earlier)
    }

    fn accesses_before(&self, event: &Event, earlier: &Event) -> Accesses {
        use OperationKind::*;
        let operation = &event.operation;
        if operation.target != earlier.operation.target {
            return event.accesses.clone();
        }
        match operation.kind {
            // `before` is the interned value that the location held; a failing compare-exchange only reads.
            CompareExchange => {
                let mode = if earlier.before == operation.detail { AccessMode::Write } else { AccessMode::Read };
                smallvec![Access { location: operation.target, mode }]
            }
            // `before` says whether the cell existed: only then does the operation leave the length alone.
            CellStore | CellDelete => cell_accesses(event, earlier.before != 0),
            _ => Primitives::accesses_before(event, earlier),
        }
    }

    fn internal_choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn holder(&self, location: LocationId) -> Option<ThreadId> {
        self.primitives.owner(location)
    }
}

/// What a store to (or removal of) a container cell touches, given whether the cell exists. The location of the
/// container's length is in the operation's detail; all other accesses are those that were recorded.
fn cell_accesses(event: &Event, exists: bool) -> Accesses {
    let length = LocationId(event.operation.detail);
    let changes_length = match event.operation.kind {
        OperationKind::CellStore => !exists,
        _ => exists,
    };
    let mut accesses: Accesses = event.accesses.iter().copied().filter(|a| a.location != length).collect();
    if event.operation.kind == OperationKind::CellDelete {
        let mode = if exists { AccessMode::Write } else { AccessMode::Read };
        for access in &mut accesses {
            if access.location == event.operation.target {
                access.mode = mode;
            }
        }
    }
    if changes_length {
        accesses.push(Access { location: length, mode: AccessMode::IntentWrite });
    }
    accesses
}
