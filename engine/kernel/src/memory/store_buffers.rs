//! Store buffers: total store order (TSO) and partial store order (PSO), as machines that an interleaving runs.
//!
//! The machine is that of Owens, Sarkar and Sewell ("A better x86 memory model: x86-TSO", TPHOLs'09): a store of a
//! thread enters a buffer of its own, a load takes the youngest store to its location from there, if there is one, and
//! else reads memory; at any time the oldest store of a buffer may reach memory. TSO has one FIFO buffer for each
//! thread, PSO one for each thread and location.
//!
//! Every buffer has an *agent*, an auxiliary thread whose steps are the flushes (Zhang, Kusano and Wang, "Dynamic
//! partial order reduction for relaxed memory models", PLDI'15; Abdulla et al., "Stateless model checking for TSO and
//! PSO", TACAS'15). An explorer sees a store as two events, `Buffer` of the thread and `Flush` of the agent, and needs
//! to know nothing else: an agent whose buffer is not empty is an enabled thread.
//!
//! Dependencies. Two adjacent steps of different threads or agents are dependent if
//! 1. one of them stores into a buffer and the other is the flush of this store;
//! 2. one is a flush and the other is an operation of the same thread that waits for its buffers to drain, or a join
//!    of it;
//! 3. both are flushes of one thread, and a store barrier lies between the two stores (PSO), or their accesses
//!    conflict, which they do only where a predicate reads both locations;
//! 4. they belong to different threads (a flush belongs to the thread that stored) and their accesses conflict, where
//!    a flush writes the location, and a load reads it, *wherever it finds the value*.
//!
//! All others commute, in every state in which both are possible: neither disables the other, and both orders lead to
//! the same state. The pairs that need a look are those of one thread. A store behind others in a buffer, and the
//! flush of the oldest, commute since the buffer is a queue. A load of x and a flush of x by the same thread commute:
//! if the flush is that of the youngest store to x the load gets this value before it from the buffer, after it from
//! memory, and otherwise from the buffer both times. So the relation is a valid independence relation in the sense of
//! Mazurkiewicz, one that does not depend on the state, and everything that the explorers are proved to do for it
//! holds as it stands.
//!
//! The classes are therefore the Mazurkiewicz traces over threads and agents. They are at least as fine as the
//! chronological traces of TACAS'15, and mostly the same; the one difference is that a load from the thread's own
//! buffer is still ordered with the other threads' flushes to the location. Chronological traces do without that order,
//! but whether two steps depend on each other then depends on the state, which sleep sets and wakeup trees cannot
//! express.
//!
//! Fences are waits: operations on primitives and containers, read-modify-writes, seq_cst stores, spawn, join, the end
//! of a thread and seq_cst fences are disabled until the thread's own buffers are empty. A seq_cst store then goes to
//! memory at once, which is the same as going through the buffer and waiting. Under PSO a release store and a release
//! fence are a store barrier: no later store reaches memory before the stores that came before the barrier.

use smallvec::smallvec;

use super::{Awaited, Effect, MemoryModel, PrimitiveState, Primitives, SequentialConsistency};
use crate::execution::Event;
use crate::operation::{Accesses, Buffering, EventId, LocationId, MemoryOrder, Operation, OperationKind, ThreadId};

/// Which stores of a thread share a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferDiscipline {
    /// All of them (TSO).
    Thread,
    /// Those to one location (PSO).
    Location,
}

/// A store that has not reached memory yet.
#[derive(Clone, Copy)]
struct Pending {
    number: u32,
    location: LocationId,
    agent: ThreadId,
    /// The thread's stores up to this one have to reach memory before.
    barrier: u32,
    /// The event that stored it.
    stored: EventId,
}

/// What is known of one thread's stores.
#[derive(Clone, Default)]
struct ThreadBuffers {
    /// Stores so far.
    stores: u32,
    /// The number of the last store before the latest store barrier.
    barrier: u32,
    /// How many stores came before the last operation that waited for the buffers.
    drained: u32,
    /// In the order of the stores.
    pending: Vec<Pending>,
    /// The flushes since the last operation that waited for the buffers: agent, number of the store, event.
    flushed: Vec<(ThreadId, u32, EventId)>,
}

impl ThreadBuffers {
    /// The last flush of each agent among the stores up to `number`; earlier ones happen before them.
    fn flushes_up_to(&self, number: u32, awaited: &mut Awaited) {
        let mut agents: smallvec::SmallVec<[ThreadId; 4]> = smallvec![];
        for &(agent, flushed, event) in self.flushed.iter().rev() {
            if flushed <= number && !agents.contains(&agent) {
                agents.push(agent);
                awaited.push(event);
            }
        }
    }
}

/// TSO or PSO. What an operation does once it reaches memory is what it does under sequential consistency.
pub struct StoreBuffers {
    discipline: BufferDiscipline,
    memory: SequentialConsistency,
    threads: Vec<ThreadBuffers>,
    /// For each agent the thread that its buffer belongs to.
    owners: Vec<Option<ThreadId>>,
}

impl StoreBuffers {
    pub fn new(discipline: BufferDiscipline) -> StoreBuffers {
        StoreBuffers { discipline, memory: SequentialConsistency::default(), threads: Vec::new(), owners: Vec::new() }
    }

    fn buffers(&self, thread: ThreadId) -> Option<&ThreadBuffers> {
        self.threads.get(thread.index())
    }

    fn buffers_mut(&mut self, thread: ThreadId) -> &mut ThreadBuffers {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadBuffers::default);
        }
        &mut self.threads[thread.index()]
    }

    fn owner(&self, agent: ThreadId) -> Option<ThreadId> {
        self.owners.get(agent.index()).copied().flatten()
    }

    fn store(&mut self, thread: ThreadId, operation: &Operation, event: EventId) {
        let agent = ThreadId(operation.detail);
        if self.owners.len() <= agent.index() {
            self.owners.resize(agent.index() + 1, None);
        }
        self.owners[agent.index()] = Some(thread);
        if matches!(operation.order, MemoryOrder::Release | MemoryOrder::AcquireRelease) {
            self.set_barrier(thread);
        }
        let buffers = self.buffers_mut(thread);
        buffers.stores += 1;
        let (number, barrier) = (buffers.stores, buffers.barrier);
        buffers.pending.push(Pending { number, location: operation.target, agent, barrier, stored: event });
    }

    /// No later store of the thread overtakes those so far. In one buffer for all of them none could anyway.
    fn set_barrier(&mut self, thread: ThreadId) {
        if self.discipline == BufferDiscipline::Location {
            let buffers = self.buffers_mut(thread);
            buffers.barrier = buffers.stores;
        }
    }

    fn flush(&mut self, agent: ThreadId, number: u32, event: EventId) {
        let Some(owner) = self.owner(agent) else { return };
        let buffers = self.buffers_mut(owner);
        buffers.pending.retain(|store| store.number != number);
        buffers.flushed.push((agent, number, event));
    }
}

/// Whether an operation waits until the buffers of its thread are empty.
fn drains(operation: &Operation) -> bool {
    use OperationKind::*;
    match operation.kind {
        // A wait for a predicate is a loop of loads, which see the thread's own stores.
        Start | Load | CellStore | Choose | Branch | Blocked | WaitUntil | Buffer | Flush => {
            operation.buffering == Buffering::Drains
        }
        // A store that is not seq_cst, and yet passes by the buffer, is one whose delay nobody could see.
        Store if operation.buffering != Buffering::Drains => operation.order == MemoryOrder::SequentiallyConsistent,
        Fence => operation.order == MemoryOrder::SequentiallyConsistent,
        _ => true,
    }
}

impl MemoryModel for StoreBuffers {
    fn primitives(&self) -> &Primitives {
        self.memory.primitives()
    }

    fn primitives_mut(&mut self) -> &mut Primitives {
        self.memory.primitives_mut()
    }

    fn reset(&mut self) {
        self.memory.reset();
        for buffers in &mut self.threads {
            buffers.pending.clear();
            buffers.flushed.clear();
            (buffers.stores, buffers.barrier, buffers.drained) = (0, 0, 0);
        }
    }

    fn create(&mut self, location: LocationId, state: PrimitiveState) {
        self.memory.create(location, state);
    }

    fn enabled(&self, thread: ThreadId, operation: &Operation) -> bool {
        match operation.buffering {
            Buffering::Leaves { owner, barrier, .. } => {
                let overtakes = |store: &Pending| store.number <= barrier;
                !self.buffers(owner).is_some_and(|buffers| buffers.pending.iter().any(overtakes))
            }
            Buffering::Drains if !self.is_drained(thread) => false,
            _ => self.memory.enabled(thread, operation),
        }
    }

    fn accesses(&self, thread: ThreadId, operation: &Operation) -> Accesses {
        self.memory.accesses(thread, operation)
    }

    fn state_token(&self, operation: &Operation) -> u32 {
        self.memory.state_token(operation)
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation, event: EventId) -> Effect {
        match operation.kind {
            OperationKind::Buffer => {
                self.store(thread, operation, event);
                return Effect::Buffered;
            }
            OperationKind::Flush => {
                self.flush(thread, operation.detail, event);
                return Effect::Done(0);
            }
            OperationKind::Fence if matches!(operation.order, MemoryOrder::Release | MemoryOrder::AcquireRelease) => {
                self.set_barrier(thread);
            }
            _ => {}
        }
        if operation.buffering == Buffering::Drains {
            let buffers = self.buffers_mut(thread);
            buffers.drained = buffers.stores;
            buffers.flushed.clear();
        }
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

    fn buffers_stores(&self) -> bool {
        true
    }

    fn buffering(&self, thread: ThreadId, operation: &Operation) -> Buffering {
        match operation.kind {
            OperationKind::Buffer => {
                Buffering::Enters { number: self.buffers(thread).map_or(0, |buffers| buffers.stores) + 1 }
            }
            _ if drains(operation) => Buffering::Drains,
            _ => operation.buffering,
        }
    }

    fn is_drained(&self, thread: ThreadId) -> bool {
        self.buffers(thread).is_none_or(|buffers| buffers.pending.is_empty())
    }

    fn owes_drain(&self, thread: ThreadId) -> bool {
        self.buffers(thread).is_some_and(|buffers| buffers.stores > buffers.drained)
    }

    fn next_flush(&self, agent: ThreadId) -> Option<Operation> {
        let owner = self.owner(agent)?;
        let oldest = self.buffers(owner)?.pending.iter().find(|store| store.agent == agent)?;
        let Pending { number, location, barrier, .. } = *oldest;
        let buffering = Buffering::Leaves { owner, number, barrier };
        Some(Operation { buffering, ..Operation::new(OperationKind::Flush, location, number) })
    }

    fn awaited(&self, thread: ThreadId, operation: &Operation) -> Awaited {
        let mut awaited = Awaited::new();
        match operation.buffering {
            Buffering::Leaves { owner, number, barrier } => {
                if let Some(buffers) = self.buffers(owner) {
                    let stored = buffers.pending.iter().find(|store| store.number == number);
                    awaited.extend(stored.map(|store| store.stored));
                    buffers.flushes_up_to(barrier, &mut awaited);
                }
            }
            Buffering::Drains => {
                let joined = (operation.kind == OperationKind::Join).then_some(ThreadId(operation.detail));
                for buffers in [Some(thread), joined].into_iter().flatten().filter_map(|thread| self.buffers(thread))
                {
                    buffers.flushes_up_to(u32::MAX, &mut awaited);
                }
            }
            Buffering::Indifferent | Buffering::Enters { .. } => {}
        }
        awaited
    }
}
