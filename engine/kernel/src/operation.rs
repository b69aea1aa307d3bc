//! The vocabulary that every part of the kernel shares: threads, locations, operations, accesses, choices.
//!
//! Everything here is plain integers. Names, values and source positions live on the Python side, which looks
//! them up only when a counterexample is recorded.

use smallvec::SmallVec;

/// A model thread. Stands for a spawn path (`main.0.2`), so it means the same thread in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadId(pub u32);

impl ThreadId {
    pub const MAIN: ThreadId = ThreadId(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place that operations conflict on: an attribute, a container cell, a lock. The same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocationId(pub u32);

impl LocationId {
    /// The location of operations that access none.
    pub const NONE: LocationId = LocationId(u32::MAX);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The position of an event in the current execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventId(pub u32);

impl EventId {
    pub const NONE: EventId = EventId(u32::MAX);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The state token of a location that holds a symbolic value, which can be equal to any other.
pub const ANY_VALUE: u32 = u32::MAX - 2;

/// How an operation accesses a location.
///
/// `Intent*` modes are those of multi-granularity locking: an operation on one cell of a container announces
/// itself on the container, so that cells do not conflict with each other but do with whole-container operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AccessMode {
    Read,
    Write,
    IntentRead,
    IntentWrite,
}

impl AccessMode {
    pub const ALL: [AccessMode; 4] =
        [AccessMode::Read, AccessMode::Write, AccessMode::IntentRead, AccessMode::IntentWrite];

    /// Whether two operations that access one location in these modes do not commute.
    #[inline]
    pub fn conflicts(self, other: AccessMode) -> bool {
        use AccessMode::*;
        matches!((self, other), (Write, _) | (_, Write) | (Read, IntentWrite) | (IntentWrite, Read))
    }
}

/// One location that an operation accesses, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    pub location: LocationId,
    pub mode: AccessMode,
}

/// All locations that one operation accesses; rarely more than two.
pub type Accesses = SmallVec<[Access; 2]>;

/// Whether two access sets conflict.
#[inline]
pub fn accesses_conflict(first: &[Access], second: &[Access]) -> bool {
    first.iter().any(|a| second.iter().any(|b| a.location == b.location && a.mode.conflicts(b.mode)))
}

/// C11 memory orders. They change nothing under sequential consistency.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum MemoryOrder {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

impl MemoryOrder {
    pub fn acquires(self) -> bool {
        use MemoryOrder::*;
        matches!(self, Acquire | AcquireRelease | SequentiallyConsistent)
    }

    pub fn releases(self) -> bool {
        use MemoryOrder::*;
        matches!(self, Release | AcquireRelease | SequentiallyConsistent)
    }
}

/// The token of no value: what an operation expects if that equals nothing that has a token.
pub const NO_VALUE: u32 = u32::MAX;

/// What a visible operation is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum OperationKind {
    /// The first step of a thread; it makes the thread's first real operation known.
    Start,
    Spawn,
    /// Waits until the thread in `detail` has ended.
    Join,
    /// The end of a thread, where somebody asks whether it is alive.
    End,
    /// Reads whether the thread in `detail` has ended, without waiting (`is_alive`, a timed join).
    IsFinished,
    /// Loads, stores and atomic container operations: what they access is in the accesses.
    Load,
    Store,
    /// A read-modify-write whose accesses depend on the state, with the expected value in `detail`.
    CompareExchange,
    ReadModifyWrite,
    /// An insertion or removal of the cell `target`; a pre-state of 1 says that the cell exists.
    CellStore,
    CellDelete,
    /// Inserts the cell unless it exists.
    CellDefault,
    /// Inserts or removes the cell or leaves it, and accesses all that it could in any state.
    CellUpdate,
    /// Inserts a cell after the last one; a list's. `target` is its length.
    CellAppend,
    Acquire,
    /// `acquire` that does not block, or that may time out.
    TryAcquire,
    Release,
    /// Releases the lock of a condition and starts to wait.
    Wait,
    /// Takes the lock of a condition again after a notification; `detail` is the condition.
    Wake,
    /// The end of a wait that may time out or be spurious; `detail` is the condition.
    TimedWake,
    Notify,
    SemaphoreAcquire,
    SemaphoreTryAcquire,
    SemaphoreRelease,
    /// An owner in `detail` (see [`crate::memory::Claim`]) takes a lock that belongs to owners rather than threads.
    OwnedAcquire,
    OwnedTryAcquire,
    /// The owner in `detail` gives up what it holds of such a lock.
    OwnedRelease,
    FlagWait,
    FlagSet,
    FlagClear,
    FlagRead,
    /// Operations on a queue; `detail` is its location, `target` the cursor that they move or look at.
    ChannelPut,
    /// A put that waits for room.
    ChannelPutWithin,
    ChannelTryPut,
    ChannelGet,
    ChannelTryGet,
    ChannelEmpty,
    ChannelFull,
    ChannelSize,
    /// A task that an item stands for is done.
    ChannelDone,
    /// Waits until all tasks are done.
    ChannelJoin,
    /// A future settles: `target` is the location of how it has ended.
    Settle,
    /// Futures begin to be watched for the order in which they settle.
    Watch,
    /// One of `detail` alternatives is drawn.
    Choose,
    /// The symbolic condition `detail` is decided: outcome 1 if it holds, 0 if not.
    Branch,
    /// Waits until a predicate over shared state holds.
    WaitUntil,
    /// A critical section of the lock `target`. What it accesses in some order it accesses in every one.
    Section,
    /// A turn of an event loop: what a timer that is over does (`target` is the timer's), or what is ready (`target` is
    /// the loop's). What it accesses is known at its end.
    Turn,
    /// All of those have ended that somebody waits for, which makes that one ready: a step that comes as soon as it can.
    /// `target` is where they tell of their ends.
    Complete,
    /// Stopped for good by a failed assumption.
    Blocked,
    Fence,
    /// A store into the store buffer that the agent in `detail` empties; it accesses nothing that others see.
    Buffer,
    /// A step of the agent of a store buffer: its oldest store, the `detail`th of its thread, reaches memory.
    Flush,
}

impl OperationKind {
    /// Whether it is an operation on a queue.
    pub fn is_of_channel(self) -> bool {
        use OperationKind::*;
        matches!(
            self,
            ChannelPut
                | ChannelPutWithin
                | ChannelTryPut
                | ChannelGet
                | ChannelTryGet
                | ChannelEmpty
                | ChannelFull
                | ChannelSize
                | ChannelDone
                | ChannelJoin
        )
    }
}

/// How an operation stands to the store buffers of its thread (TSO, PSO). Stores are counted from 1 for each thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Buffering {
    /// It happens whatever the buffers hold, as every operation does where there are none.
    #[default]
    Indifferent,
    /// It waits until the thread's own buffers are empty.
    Drains,
    /// The `number`th store of its thread enters a buffer.
    Enters { number: u32 },
    /// The `number`th store of `owner` leaves its buffer, after all of the owner's stores up to `barrier`.
    Leaves { owner: ThreadId, number: u32, barrier: u32 },
}

/// A visible operation that a thread is about to perform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    pub kind: OperationKind,
    /// The primary location: the one whose state decides whether the operation is enabled and what it accesses.
    pub target: LocationId,
    /// A thread, a count, an interned value or a second location, as `kind` says.
    pub detail: u32,
    pub order: MemoryOrder,
    pub buffering: Buffering,
}

impl Operation {
    pub fn new(kind: OperationKind, target: LocationId, detail: u32) -> Operation {
        let buffering = Buffering::Indifferent;
        Operation { kind, target, detail, order: MemoryOrder::SequentiallyConsistent, buffering }
    }

    /// Whose operation it is if `thread` performs it: the agent of a store buffer acts for the buffer's owner.
    #[inline]
    pub fn owner(&self, thread: ThreadId) -> ThreadId {
        match self.buffering {
            Buffering::Leaves { owner, .. } => owner,
            _ => thread,
        }
    }

    pub fn is_flush(&self) -> bool {
        self.kind == OperationKind::Flush
    }

    /// Whether another operation can disable this one, so that it may have to wait.
    pub fn may_block(&self) -> bool {
        use OperationKind::*;
        matches!(
            self.kind,
            Join | Acquire
                | Wake
                | SemaphoreAcquire
                | OwnedAcquire
                | FlagWait
                | ChannelGet
                | ChannelPutWithin
                | ChannelJoin
                | WaitUntil
                | Turn
                | Blocked
        )
    }
}

/// Everything that can vary in an execution. An execution is the sequence of its choices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// The thread, or the agent of a store buffer, performs its pending operation. `outcome` says which alternative of
    /// a drawn value it gets.
    Step { thread: ThreadId, outcome: u32 },
    /// The thread's pending load reads from this write, whatever the interleaving says (graph exploration).
    ReadFrom { thread: ThreadId, write: EventId },
    /// The thread's pending symbolic branch takes this side (concolic exploration).
    Branch { thread: ThreadId, taken: bool },
}

impl Choice {
    pub fn thread(self) -> ThreadId {
        match self {
            Choice::Step { thread, .. } | Choice::ReadFrom { thread, .. } | Choice::Branch { thread, .. } => thread,
        }
    }

    /// The thread performs `operation` with this outcome.
    pub fn of(thread: ThreadId, operation: &Operation, outcome: u32) -> Choice {
        match operation.kind {
            OperationKind::Branch => Choice::Branch { thread, taken: outcome != 0 },
            _ => Choice::Step { thread, outcome },
        }
    }

    /// A step with the first (usually the only) outcome.
    pub fn step(thread: ThreadId) -> Choice {
        Choice::Step { thread, outcome: 0 }
    }

    pub fn outcome(self) -> u32 {
        match self {
            Choice::Step { outcome, .. } => outcome,
            Choice::Branch { taken, .. } => u32::from(taken),
            Choice::ReadFrom { .. } => 0,
        }
    }
}
