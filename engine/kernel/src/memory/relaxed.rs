//! Memory whose loads read from the write that the explorer names: for the exploration of execution graphs under memory
//! models that no sequence of steps stands for. Primitives are as under sequential consistency.

use super::{Effect, MemoryModel, PrimitiveState, Primitives, SequentialConsistency};
use crate::execution::Event;
use crate::operation::{Accesses, Buffering, EventId, LocationId, Operation, OperationKind, ThreadId};

#[derive(Default)]
pub struct Relaxed {
    memory: SequentialConsistency,
}

impl MemoryModel for Relaxed {
    fn primitives(&self) -> &Primitives {
        self.memory.primitives()
    }

    fn primitives_mut(&mut self) -> &mut Primitives {
        self.memory.primitives_mut()
    }

    fn reset(&mut self) {
        self.memory.reset();
    }

    fn create(&mut self, location: LocationId, state: PrimitiveState) {
        self.memory.create(location, state);
    }

    fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool {
        self.memory.enabled(thread, operation)
    }

    fn accesses(&self, thread: ThreadId, operation: &Operation) -> Accesses {
        self.memory.accesses(thread, operation)
    }

    fn state_token(&self, operation: &Operation) -> u32 {
        self.memory.state_token(operation)
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect {
        self.memory.perform(thread, operation, event)
    }

    fn enabled_before(&self, event: &Event, earlier: &Event) -> bool {
        self.memory.enabled_before(event, earlier)
    }

    fn accesses_before(&self, event: &Event, earlier: &Event) -> Accesses {
        self.memory.accesses_before(event, earlier)
    }

    fn accesses_in_state_of(&self, event: &Event, earlier: &Event) -> Accesses {
        self.memory.accesses_in_state_of(event, earlier)
    }

    fn holder(&self, location: LocationId) -> Option<ThreadId> {
        self.memory.holder(location)
    }

    fn chooses_reads(&self) -> bool {
        true
    }

    /// Loads, stores and read-modify-writes of single values; operations on containers name their length in `detail`.
    fn is_relaxed(&self, operation: &Operation) -> bool {
        match operation.kind {
            // The state of a primitive is read as such, and so are objects that are taken as wholes.
            OperationKind::Load | OperationKind::Store if operation.buffering == Buffering::Drains => false,
            OperationKind::Load | OperationKind::Store => operation.detail == 0,
            OperationKind::ReadModifyWrite | OperationKind::CompareExchange => true,
            _ => false,
        }
    }
}
