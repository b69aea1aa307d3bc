//! Sequential consistency: an operation takes effect for everybody at the moment it is performed.

use smallvec::smallvec;

use super::{Effect, MemoryModel, PrimitiveState, Primitives};
use crate::execution::Event;
use crate::operation::{
    Access, AccessMode, Accesses, EventId, LocationId, MemoryOrder, Operation, OperationKind, ThreadId, ANY_VALUE,
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
        self.primitives.enabled_before(event, earlier)
    }

    fn accesses_before(&self, event: &Event, earlier: &Event) -> Accesses {
        let operation = &event.operation;
        if operation.kind == OperationKind::Settle {
            return settle_accesses(event, earlier);
        }
        if earlier.operation.kind == OperationKind::CellAppend {
            return accesses_before_append(event, earlier);
        }
        let target = earlier.accesses.iter().find(|access| access.location == operation.target);
        if target.is_some_and(|access| matches!(access.mode, AccessMode::Read | AccessMode::IntentRead)) {
            // No write that is ordered after the read came before `event`: it would be what `event` races with. So it
            // would find what it found. (The value before the read can be another one: a flush of the reader's own
            // store is not ordered after the read, and takes place without it.)
            return event.accesses.clone();
        }
        self.accesses_in_state_of(event, earlier)
    }

    fn accesses_in_state_of(&self, event: &Event, earlier: &Event) -> Accesses {
        use OperationKind::*;
        let operation = &event.operation;
        if operation.kind == Settle {
            return settle_accesses(event, earlier);
        }
        if earlier.operation.kind == CellAppend {
            return accesses_before_append(event, earlier);
        }
        if operation.kind.is_of_channel() {
            return self.primitives.accesses_before(event, earlier);
        }
        if operation.target != earlier.operation.target {
            return event.accesses.clone();
        }
        let mut accesses = match operation.kind {
            // `before` is the interned value that the location held; a failing compare-exchange only reads.
            CompareExchange => {
                let may_match = earlier.before == operation.detail || earlier.before == ANY_VALUE;
                let mode = if may_match { AccessMode::Write } else { AccessMode::Read };
                smallvec![Access { location: operation.target, mode }]
            }
            // `before` says whether the cell existed; the container's length is in the operation's detail.
            CellStore | CellDelete | CellDefault => cell_accesses(event, earlier.before != 0),
            _ => return self.primitives.accesses_before(event, earlier),
        };
        // What does not depend on the state stays.
        for access in &event.accesses {
            let decided = access.location == operation.target || access.location.0 == operation.detail;
            if !decided && !accesses.iter().any(|other| other.location == access.location) {
                accesses.push(*access);
            }
        }
        accesses
    }

    fn holder(&self, location: LocationId) -> Option<ThreadId> {
        self.primitives.owner(location)
    }
}

/// What the end of a future accesses: its order among others only once it is watched.
fn settle_accesses(event: &Event, earlier: &Event) -> Accesses {
    let target = event.operation.target;
    match earlier.operation.kind == OperationKind::Watch
        && earlier.accesses.iter().any(|access| access.location == target)
    {
        true => smallvec![Access { location: target, mode: AccessMode::Write }],
        false => event.accesses.clone(),
    }
}

/// What a store to (or removal of) a container cell accesses, given whether the cell exists.
fn cell_accesses(event: &Event, exists: bool) -> Accesses {
    let operation = &event.operation;
    let length = LocationId(operation.detail);
    let (writes, resizes) = match operation.kind {
        OperationKind::CellStore => (true, !exists),
        OperationKind::CellDefault => (!exists, !exists),
        _ => (exists, exists),
    };
    let (cell, whole) = if writes {
        (AccessMode::Write, AccessMode::IntentWrite)
    } else {
        (AccessMode::Read, AccessMode::IntentRead)
    };
    let mut accesses: Accesses = event.accesses.iter().copied().filter(|a| a.location != length).collect();
    for access in &mut accesses {
        access.mode = if access.location == operation.target { cell } else { whole };
    }
    if resizes {
        // Insertions commute unless somebody looks at the order of the items.
        let ordered = operation.order == MemoryOrder::SequentiallyConsistent;
        let mode = if ordered { AccessMode::Write } else { AccessMode::IntentWrite };
        accesses.push(Access { location: length, mode });
    }
    accesses
}

/// What an operation accesses before the list's last cell was there: who looks for that cell finds out how many there
/// are, and who appends makes it.
fn accesses_before_append(event: &Event, append: &Event) -> Accesses {
    let length = append.operation.target;
    let is_cell = |access: &&Access| access.location != length && access.mode == AccessMode::Write;
    let mut accesses = event.accesses.clone();
    let Some(cell) = append.accesses.iter().find(is_cell) else { return accesses };
    if event.operation.kind == OperationKind::CellAppend && event.operation.target == length {
        for access in accesses.iter_mut().filter(|access| is_cell(&&**access)) {
            access.location = cell.location;
        }
    } else if accesses.iter().any(|access| access.location == cell.location)
        && !accesses.iter().any(|access| access.location == length)
    {
        accesses.push(Access { location: length, mode: AccessMode::Read });
    }
    accesses
}
