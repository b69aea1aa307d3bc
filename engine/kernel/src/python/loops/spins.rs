//! Threads in spinloops: whether one that has looked in vain could find something new.

use crate::explorer::SpinRead;
use crate::operation::{Access, EventId, LocationId, OperationKind, ThreadId};
use crate::python::state::State;
use crate::threads::Status;

/// Why a thread goes round in a loop without doing anything.
#[derive(Default)]
pub struct Spin {
    /// What it read, with the first event of the iteration in which it did: what has been written since then it would
    /// find next time, even if it has found it already at a later look.
    pub reads: Vec<(Access, EventId)>,
    /// The locks that it held at the head of the loop and gives back within it.
    pub released: Vec<LocationId>,
    /// Whether it is `wait_until` that looks.
    pub waits: bool,
}

impl Spin {
    /// A predicate of `wait_until` was false when `event` looked at `joint`.
    pub fn of_predicate(joint: Access, event: EventId) -> Spin {
        Spin { reads: vec![(joint, event)], released: Vec::new(), waits: true }
    }

    /// What the thread looked at.
    pub fn looked_at(&self) -> Vec<Access> {
        self.reads.iter().map(|(read, _)| *read).collect()
    }
}

/// What is known of the spinloops of an execution.
#[derive(Default)]
pub struct Spins {
    /// How many runs through loops have begun.
    pub tokens: u64,
    /// Events of this execution that wrote what was there already.
    pub silent_writes: Vec<EventId>,
}

impl Spins {
    /// Another execution begins.
    pub fn begin(&mut self) {
        self.silent_writes.clear();
    }
}

impl State {
    /// Whether going round once more could find something new: something that was read has been written since, or a
    /// thread waits for a lock that the loop gives back.
    ///
    /// Where reads-from is chosen this is asked of all threads together; see `livelocked`.
    pub fn can_go_on(&self, thread: ThreadId, spin: &Spin) -> bool {
        let execution = &self.driver.execution;
        let position = self.driver.position();
        // What the thread stored itself it has seen already, in its store buffer.
        let is_news = |writer: &EventId| {
            execution.event(*writer).owner() != thread && !self.waits.spins.silent_writes.contains(writer)
        };
        spin.reads
            .iter()
            .filter(|(_, since)| !self.is_chosen(*since))
            .any(|(read, since)| execution.accessed_after(*read, *since, position).any(|writer| is_news(&writer)))
            || self.driver.threads.alive().iter().any(|thread| {
                let thread = self.driver.threads.get(*thread);
                thread.status == Status::Pending
                    && matches!(thread.pending.kind, OperationKind::Acquire | OperationKind::Wake)
                    && spin.released.contains(&thread.pending.target)
            })
    }

    /// Whether the event has a reads-from choice. A schedule that is followed names such writes too, and what
    /// comes later in it is no news.
    fn is_chosen(&self, event: EventId) -> bool {
        match self.explores_reads() {
            true => event != EventId::NONE && self.driver.execution.event(event).reads.is_some(),
            false => self.heap.reads.enabled,
        }
    }

    /// Whether the thread waits in a loop, and may go on.
    pub fn spin_ended(&self, thread: ThreadId) -> Option<bool> {
        let spin = self.threads.get(thread.index())?.loops.spin.as_ref()?;
        Some(self.can_go_on(thread, spin))
    }

    /// Decide whether a thread that waits in a loop may go on. Returns false if it waits for something else.
    pub fn update_spin(&mut self, thread: ThreadId) -> bool {
        let ended = self.spin_ended(thread);
        if let Some(ended) = ended {
            self.driver.threads.get_mut(thread).predicate_holds = ended;
        }
        ended.is_some()
    }

    /// Whether the thread, which waits after having looked, does so in `wait_until`.
    pub fn waits_for_predicate(&self, thread: ThreadId) -> bool {
        let spin = self.threads.get(thread.index()).and_then(|thread| thread.loops.spin.as_ref());
        spin.is_some_and(|spin| spin.waits)
    }

    /// Whether a thread stopped or waits after an iteration that only looked.
    pub fn any_spins(&self) -> bool {
        self.driver.threads.alive().iter().any(|thread| self.spin_ended(*thread).is_some())
    }

    /// Whether every thread that stopped for good did so in a loop, and none at a failed assumption.
    pub fn only_spins_stopped(&self) -> bool {
        let threads = &self.driver.threads;
        let stopped = |thread: &ThreadId| threads.get(*thread).status == Status::Stopped;
        threads.alive().iter().copied().filter(stopped).all(|thread| self.spin_ended(thread).is_some())
    }

    /// Tell the explorer of spin reads, if one of them could find something new in this execution, but
    /// perhaps not in another one of its class.
    pub fn tell_of_spin_reads(&mut self) {
        if !self.driver.wants_values() {
            return;
        }
        let spins = self.driver.threads.alive().iter();
        let spins: Vec<&Spin> =
            spins.filter_map(|thread| self.threads.get(thread.index())?.loops.spin.as_ref()).collect();
        if spins.is_empty() || !self.only_spins_stopped() || !self.livelocked().is_empty() {
            return;
        }
        let reads = spins.iter().flat_map(|spin| spin.reads.iter()).filter(|(_, event)| *event != EventId::NONE);
        let spin_reads: Vec<SpinRead> =
            reads.map(|(read, event)| SpinRead { event: *event, location: read.location }).collect();
        if let Some(explorer) = self.driver.explorer_mut().spinning() {
            explorer.found_spin_reads(&spin_reads, &self.waits.spins.silent_writes);
        }
    }

    /// The threads that go round in a loop for ever: none if one of them could still find something new.
    pub fn livelocked(&self) -> Vec<ThreadId> {
        let mut found = Vec::new();
        for thread in self.driver.threads.alive() {
            match self.spin_ended(*thread) {
                Some(true) => return Vec::new(),
                Some(false) => found.push(*thread),
                None => {}
            }
        }
        let loads: Vec<EventId> = found
            .iter()
            .filter_map(|thread| self.threads.get(thread.index())?.loops.spin.as_ref())
            .flat_map(|spin| spin.reads.iter().map(|(_, event)| *event))
            .filter(|event| self.explores_reads() && self.is_chosen(*event))
            .collect();
        let execution = &self.driver.execution;
        let silent = &self.waits.spins.silent_writes;
        let fairness = self.driver.explorer().fairness();
        if !loads.is_empty() && fairness.is_some_and(|fair| !fair.reads_for_ever(execution, &loads, silent)) {
            return Vec::new();
        }
        found
    }
}
