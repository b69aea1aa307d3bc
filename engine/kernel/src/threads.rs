//! The threads of the running execution: who exists, what each is about to do.

use crate::memory::MemoryModel;
use crate::operation::{Accesses, EventId, Operation, OperationKind, ThreadId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not part of this execution (yet).
    Absent,
    /// Spawned; its code has not begun to run.
    New,
    /// Stopped at a visible operation.
    Pending,
    /// Running model code between two visible operations.
    Running,
    Finished,
    /// Given up by a failed assumption.
    Stopped,
    /// The agent of a store buffer that is empty at present.
    Drained,
}

/// What the pending operation would access and find if it came next, for explorers that ask.
#[derive(Clone, Default, Debug)]
pub struct PendingFootprint {
    pub accesses: Accesses,
    /// The token of the value at its primary location; None for one without token.
    pub found: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub status: Status,
    pub pending: Operation,
    /// How many alternatives the pending operation has.
    pub alternatives: u32,
    /// Its last event, or the spawn that started it.
    pub last: EventId,
    /// Events so far.
    pub events: u32,
    pub daemon: bool,
    /// Threads spawned so far, which names the next.
    pub spawned: u32,
    /// Whether what a `WaitUntil` waits for holds, or a `Turn` is possible.
    pub predicate_holds: bool,
    pub footprint: PendingFootprint,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread {
            status: Status::Absent,
            pending: START,
            alternatives: 1,
            last: EventId::NONE,
            events: 0,
            daemon: false,
            spawned: 0,
            predicate_holds: false,
            footprint: PendingFootprint::default(),
        }
    }
}

const START: Operation = Operation {
    kind: OperationKind::Start,
    target: crate::operation::LocationId::NONE,
    detail: 0,
    order: crate::operation::MemoryOrder::SequentiallyConsistent,
    buffering: crate::operation::Buffering::Indifferent,
};

#[derive(Default)]
pub struct Threads {
    threads: Vec<Thread>,
    alive: Vec<ThreadId>,
    predicate_waiters: i32,
    /// Whose step comes before all others'.
    forced: Option<ThreadId>,
}

impl Threads {
    pub fn reset(&mut self) {
        for thread in &mut self.threads {
            *thread = Thread::default();
        }
        self.alive.clear();
        self.forced = None;
        self.predicate_waiters = 0;
    }

    /// Make a thread part of the execution.
    pub fn add(&mut self, id: ThreadId, spawned_by: EventId, daemon: bool) {
        if self.threads.len() <= id.index() {
            self.threads.resize_with(id.index() + 1, Thread::default);
        }
        self.threads[id.index()] = Thread { status: Status::New, last: spawned_by, daemon, ..Thread::default() };
        let position = self.alive.partition_point(|other| *other < id);
        self.alive.insert(position, id);
    }

    /// Let the agent of a store buffer perform `flush` next, or rest if there is none.
    pub fn set_agent(&mut self, agent: ThreadId, flush: Option<Operation>) {
        if self.threads.get(agent.index()).is_none_or(|thread| thread.status == Status::Absent) {
            // Like a daemon, nobody misses an agent that is left behind when an execution is cut off.
            self.add(agent, EventId::NONE, true);
        }
        let thread = &mut self.threads[agent.index()];
        match flush {
            Some(flush) => {
                thread.status = Status::Pending;
                thread.pending = flush;
            }
            None => thread.status = Status::Drained,
        }
    }

    pub fn get(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    pub fn get_mut(&mut self, id: ThreadId) -> &mut Thread {
        &mut self.threads[id.index()]
    }

    /// Let an agent that does no more than what follows of others perform `operation` next, before everybody else.
    pub fn force(&mut self, agent: ThreadId, operation: Operation) {
        if self.threads.get(agent.index()).is_none_or(|thread| thread.status == Status::Absent) {
            self.add(agent, EventId::NONE, true);
        }
        let thread = &mut self.threads[agent.index()];
        thread.status = Status::Pending;
        thread.pending = operation;
        self.forced = Some(agent);
    }

    /// It has been performed.
    pub fn end_forced(&mut self) {
        if let Some(agent) = self.forced.take() {
            self.threads[agent.index()].status = Status::Drained;
        }
    }

    /// Whose step comes before all others'.
    pub fn forced(&self) -> Option<ThreadId> {
        self.forced
    }

    /// Whether some thread waits for a predicate to hold.
    pub fn waits_for_predicates(&self) -> bool {
        self.predicate_waiters > 0
    }

    /// Note that one thread more (or less) waits for a predicate.
    pub fn count_predicate_waiter(&mut self, change: i32) {
        self.predicate_waiters += change;
    }

    /// All threads of the execution that have not ended, in the order of their identities.
    pub fn alive(&self) -> &[ThreadId] {
        &self.alive
    }

    /// All threads of the execution, whether they have ended or not.
    pub fn ids(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let there = |id: &ThreadId| self.get(*id).status != Status::Absent;
        (0..self.threads.len()).map(|index| ThreadId(index as u32)).filter(there)
    }

    pub fn finish(&mut self, id: ThreadId) {
        self.threads[id.index()].status = Status::Finished;
        self.alive.retain(|other| *other != id);
    }

    pub fn is_finished(&self, id: ThreadId) -> bool {
        self.threads.get(id.index()).is_some_and(|thread| thread.status == Status::Finished)
    }

    pub fn pending(&self, id: ThreadId) -> Option<&Operation> {
        let thread = self.threads.get(id.index())?;
        matches!(thread.status, Status::Pending | Status::New).then_some(&thread.pending)
    }

    pub fn footprint(&self, id: ThreadId) -> &PendingFootprint {
        &self.get(id).footprint
    }

    pub fn alternatives(&self, id: ThreadId) -> u32 {
        self.get(id).alternatives
    }

    pub fn is_enabled(&self, id: ThreadId, memory: &dyn MemoryModel) -> bool {
        let Some(thread) = self.threads.get(id.index()) else { return false };
        match thread.status {
            Status::New => true,
            Status::Pending => match thread.pending.kind {
                OperationKind::Join => {
                    let joined = ThreadId(thread.pending.detail);
                    self.is_finished(joined) && memory.is_drained(joined) && memory.is_drained(id)
                }
                OperationKind::WaitUntil | OperationKind::Turn => thread.predicate_holds,
                _ => memory.enabled(id, &thread.pending),
            },
            _ => false,
        }
    }
}
