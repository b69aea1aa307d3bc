//! What an operation reads and writes, in the terms of the paper (section 2.1): its events are reads and writes of
//! variables, ours are one point that may read some locations and write some.
//!
//! An operation on a primitive reads the primitive's state and, unless it only asks, writes it: a lock's acquire and
//! release (remark 4) are reads that only a "free" state lets happen, and writes. Since such an event is one point,
//! no write can come between what it reads and what it writes; two acquires therefore never read from one release.

use smallvec::SmallVec;

use crate::memory::{MemoryModel, PrimitiveState};
use crate::operation::{Access, AccessMode, EventId, LocationId, Operation, OperationKind, ThreadId};

pub type Locations = SmallVec<[LocationId; 2]>;

/// A test of the state token that an operation finds at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// A lock is free, or held by the thread itself if it is re-entrant (the token of such a state).
    Free {
        own: Option<u32>,
    },
    Positive,
    Equals(u32),
}

impl Test {
    pub fn passes(self, token: u32) -> bool {
        match self {
            Test::Free { own } => token == 0 || own == Some(token),
            Test::Positive => token > 0,
            Test::Equals(expected) => token == expected,
        }
    }
}

/// What the state at the target decides about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Nothing,
    /// It waits for a state that passes.
    Needs(Test),
    /// It writes the target only after a state that passes.
    WritesIf(Test),
}

#[derive(Clone, Debug)]
pub struct Shape {
    pub reads: Locations,
    /// With a condition `WritesIf`, without the target.
    pub writes: Locations,
    pub condition: Condition,
    /// One of so many alternatives is drawn: a read of what nobody writes.
    pub alternatives: u32,
}

impl Shape {
    fn new() -> Shape {
        Shape { reads: Locations::new(), writes: Locations::new(), condition: Condition::Nothing, alternatives: 1 }
    }

    /// Whether the event branches the exploration: a read of the paper.
    pub fn reads(&self) -> bool {
        !self.reads.is_empty() || self.alternatives > 1
    }

    /// What an operation on `target` may write, whatever it finds.
    pub fn possible_writes(&self, target: LocationId) -> Locations {
        let mut writes = self.writes.clone();
        if matches!(self.condition, Condition::WritesIf(_)) {
            writes.push(target);
        }
        writes
    }
}

/// An operation that the algorithm does not treat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub OperationKind);

/// What `operation` of `thread` reads and writes; `footprint` are the accesses of an operation on data.
pub fn shape(
    thread: ThreadId,
    operation: &Operation,
    footprint: &[Access],
    memory: &dyn MemoryModel,
) -> Result<Shape, Unsupported> {
    use OperationKind::*;
    let target = operation.target;
    let mut shape = Shape::new();
    match operation.kind {
        Start | Spawn | Join | Fence => {}
        Choose => shape.alternatives = operation.detail.max(1),
        Load | Store | ReadModifyWrite | CompareExchange | End | IsFinished => {
            for access in footprint {
                match access.mode {
                    AccessMode::Read => shape.reads.push(access.location),
                    AccessMode::Write => {
                        if operation.kind != Store || access.location != target {
                            shape.reads.push(access.location);
                        }
                        if operation.kind != CompareExchange || access.location != target {
                            shape.writes.push(access.location);
                        }
                    }
                    AccessMode::IntentRead | AccessMode::IntentWrite => return Err(Unsupported(operation.kind)),
                }
            }
            if operation.kind == CompareExchange {
                shape.condition = Condition::WritesIf(Test::Equals(operation.detail));
            }
        }
        Acquire | TryAcquire => {
            shape.reads.push(target);
            let reentrant =
                matches!(memory.primitives().get(target), Some(PrimitiveState::Mutex { reentrant: true, .. }));
            let test = Test::Free { own: reentrant.then_some(thread.0 + 1) };
            if operation.kind == Acquire {
                shape.writes.push(target);
                shape.condition = Condition::Needs(test);
            } else {
                shape.condition = Condition::WritesIf(test);
            }
        }
        Release | Wait | TimedWake | SemaphoreRelease | ChannelPut | FlagSet | FlagClear => {
            shape.reads.push(target);
            shape.writes.push(target);
        }
        Wake => {
            shape.reads.push(target);
            shape.writes.push(target);
            shape.condition = Condition::Needs(Test::Free { own: None });
        }
        // Its lock orders it among what concerns the same condition; only the ends of timed waits can come any time.
        Notify => {
            for access in memory.primitives().accesses(thread, operation) {
                shape.reads.push(access.location);
                shape.writes.push(access.location);
            }
        }
        SemaphoreAcquire | ChannelGet => {
            shape.reads.push(target);
            shape.writes.push(target);
            shape.condition = Condition::Needs(Test::Positive);
        }
        SemaphoreTryAcquire | ChannelTryGet => {
            shape.reads.push(target);
            shape.condition = Condition::WritesIf(Test::Positive);
        }
        FlagRead => shape.reads.push(target),
        FlagWait => {
            shape.reads.push(target);
            // A waiter that has registered goes on once it was woken, whatever the flag is by then.
            if memory.primitives().waiter(target, thread).is_none() {
                shape.condition = Condition::Needs(Test::Positive);
            }
        }
        ChannelPutWithin | ChannelTryPut | ChannelEmpty | ChannelFull | ChannelSize | ChannelDone | ChannelJoin
        | Settle | Watch | WaitUntil | OwnedAcquire | OwnedTryAcquire | OwnedRelease | CellStore | CellDelete
        | CellDefault | CellUpdate | CellAppend | Branch | Buffer | Flush | Section | Turn | Complete | Blocked => {
            return Err(Unsupported(operation.kind));
        }
    }
    Ok(shape)
}

/// Whether an operation waits for another thread to wake it, rather than for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    Awake,
    Asleep,
    /// It was woken by this event of the execution: it comes after that, and is never put to sleep again.
    WokenBy(EventId),
}

pub fn sleep(thread: ThreadId, operation: &Operation, memory: &dyn MemoryModel) -> Sleep {
    let place = match operation.kind {
        OperationKind::Wake => LocationId(operation.detail),
        OperationKind::FlagWait => operation.target,
        _ => return Sleep::Awake,
    };
    match memory.primitives().waiter(place, thread) {
        None => Sleep::Awake,
        Some(waiter) if waiter.woken_by == EventId::NONE => Sleep::Asleep,
        Some(waiter) => Sleep::WokenBy(waiter.woken_by),
    }
}
