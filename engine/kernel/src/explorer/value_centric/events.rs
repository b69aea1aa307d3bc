//! The events of an annotated partial order (section 4.1) with their good writes, and what causally happens before
//! them. They are a stack: the exploration removes what it added last.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::shape::{Locations, Shape};
use crate::operation::{LocationId, Operation, OperationKind, ThreadId};

/// The position of an event on the stack.
pub type EventIndex = u32;

/// The write that every location begins with.
pub const INITIAL: EventIndex = EventIndex::MAX;

/// How many reads of each thread causally happen before something, as the number of events of the thread up to the
/// last of them.
pub type Past = SmallVec<[u32; 4]>;

pub fn join_past(mine: &mut Past, theirs: &[u32]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), 0);
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(*theirs);
    }
}

/// Two pasts are the same whatever number of zeros they end with.
pub fn trimmed(mut past: Past) -> Past {
    while past.last() == Some(&0) {
        past.pop();
    }
    past
}

/// What a location holds, as far as reads can tell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    /// Equal values have equal tokens.
    Token(u32),
    /// What this event wrote, which equals nothing else.
    Unique(ThreadId, u32),
    /// What the location began with, which equals nothing else.
    Initial,
}

/// One location that an event reads, and `GoodW`: the writes that it may observe.
#[derive(Clone, Debug)]
pub struct Observation {
    pub location: LocationId,
    pub good: SmallVec<[EventIndex; 2]>,
}

pub type Observations = SmallVec<[Observation; 1]>;

#[derive(Clone, Debug)]
pub struct Vertex {
    pub thread: ThreadId,
    pub index: u32,
    pub operation: Operation,
    /// Which alternative of a drawn value it got.
    pub outcome: u32,
    pub reads: Observations,
    pub writes: Locations,
    pub shape: Shape,
    /// Whether it is a read of the paper.
    pub is_read: bool,
    /// Whether it is only supposed to write its target or not to: what it observes is not known yet.
    pub supposed: bool,
    /// The token of what its target holds after it; None until it has been performed, and for values without token.
    pub token: Option<u32>,
    /// The event of its thread before it, or the spawn; for a join also the last event of the joined thread, and what
    /// woke it if it slept.
    pub predecessors: SmallVec<[EventIndex; 2]>,
    /// The reads that causally happen before it, without what it reads itself.
    pub past_before: Past,
    /// The reads that causally happen before it or are it.
    pub past: Past,
}

impl Vertex {
    /// What it wrote to `location`.
    pub fn value(&self, location: LocationId) -> Value {
        match self.token {
            Some(token) if location == self.operation.target => Value::Token(token),
            _ => Value::Unique(self.thread, self.index),
        }
    }
}

#[derive(Default)]
pub struct Events {
    stack: Vec<Vertex>,
    /// For each thread its events.
    chains: Vec<Vec<EventIndex>>,
    /// For each location the events that write it.
    writers: FxHashMap<LocationId, Vec<EventIndex>>,
    /// What locations held before any write, with the number of events that it took to learn it.
    initial: FxHashMap<LocationId, (u32, usize)>,
}

impl Events {
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// One more than the highest thread.
    pub fn threads(&self) -> usize {
        self.chains.len()
    }

    pub fn get(&self, event: EventIndex) -> &Vertex {
        &self.stack[event as usize]
    }

    pub fn from(&self, first: usize) -> &[Vertex] {
        &self.stack[first..]
    }

    /// Whether an event that satisfies the test observes this write of a location, can observe no other, and writes the
    /// location itself: then no other event can do the same.
    pub fn is_taken(&self, source: EventIndex, location: LocationId, counts: impl Fn(EventIndex) -> bool) -> bool {
        self.writers(location).iter().any(|&writer| {
            let mut reads = self.get(writer).reads.iter();
            reads.any(|read| read.location == location && read.good[..] == [source]) && counts(writer)
        })
    }

    /// A name of an event that does not depend on the order of the others.
    pub fn identity(&self, event: EventIndex) -> (ThreadId, u32) {
        if event == INITIAL {
            return (ThreadId(u32::MAX), u32::MAX);
        }
        (self.get(event).thread, self.get(event).index)
    }

    pub fn find(&self, thread: ThreadId, index: u32) -> Option<EventIndex> {
        self.chains.get(thread.index())?.get(index as usize).copied()
    }

    pub fn last_of(&self, thread: ThreadId) -> Option<EventIndex> {
        self.chains.get(thread.index())?.last().copied()
    }

    /// How many of the first `length` events each thread has.
    pub fn counts_before(&self, length: usize) -> Vec<u32> {
        let count = |chain: &Vec<EventIndex>| chain.partition_point(|event| (*event as usize) < length) as u32;
        self.chains.iter().map(count).collect()
    }

    pub fn writers(&self, location: LocationId) -> &[EventIndex] {
        self.writers.get(&location).map_or(&[], Vec::as_slice)
    }

    /// What precedes the next event of `thread` by the program, with the event that woke it if it slept, and the reads
    /// in the past of that.
    pub fn before(
        &self,
        thread: ThreadId,
        operation: &Operation,
        waker: Option<EventIndex>,
    ) -> (SmallVec<[EventIndex; 2]>, Past) {
        let previous = self.last_of(thread).or_else(|| self.spawn_of(thread));
        let joined = match operation.kind {
            OperationKind::Join => self.last_of(ThreadId(operation.detail)),
            _ => None,
        };
        let predecessors: SmallVec<[EventIndex; 2]> = previous.into_iter().chain(joined).chain(waker).collect();
        let mut past = Past::new();
        for &predecessor in &predecessors {
            join_past(&mut past, &self.get(predecessor).past);
        }
        (predecessors, past)
    }

    /// Add an event; computes its past.
    pub fn push(&mut self, mut vertex: Vertex) -> EventIndex {
        let event = self.stack.len() as EventIndex;
        let mut past = vertex.past_before.clone();
        for observation in &vertex.reads {
            // All good writes have one past, up to what the event has before it anyway.
            if let Some(&source) = observation.good.first() {
                if source != INITIAL {
                    join_past(&mut past, &self.get(source).past);
                }
            }
        }
        if vertex.is_read {
            let own = vertex.thread.index();
            if past.len() <= own {
                past.resize(own + 1, 0);
            }
            past[own] = vertex.index + 1;
        }
        vertex.past = past;
        if self.chains.len() <= vertex.thread.index() {
            self.chains.resize_with(vertex.thread.index() + 1, Vec::new);
        }
        self.chains[vertex.thread.index()].push(event);
        for location in &vertex.writes {
            self.writers.entry(*location).or_default().push(event);
        }
        self.stack.push(vertex);
        event
    }

    pub fn truncate(&mut self, length: usize) {
        if self.stack.len() <= length {
            return;
        }
        while self.stack.len() > length {
            if let Some(vertex) = self.stack.pop() {
                self.chains[vertex.thread.index()].pop();
                for location in &vertex.writes {
                    if let Some(writers) = self.writers.get_mut(location) {
                        writers.pop();
                    }
                }
            }
        }
        while self.chains.last().is_some_and(Vec::is_empty) {
            self.chains.pop();
        }
        self.initial.retain(|_, (_, events)| *events <= length);
    }

    pub fn set_good(&mut self, read: EventIndex, good: SmallVec<[EventIndex; 2]>) {
        self.stack[read as usize].reads[0].good = good;
    }

    /// The event turned out not to write its target; it is the last that was supposed to.
    pub fn writes_not(&mut self, event: EventIndex) {
        let vertex = &mut self.stack[event as usize];
        let target = vertex.operation.target;
        vertex.writes.retain(|location| *location != target);
        if let Some(writers) = self.writers.get_mut(&target) {
            writers.retain(|writer| *writer != event);
        }
    }

    pub fn set_token(&mut self, event: EventIndex, token: Option<u32>) {
        self.stack[event as usize].token = token;
    }

    /// Note what `location` held before any write, known from the first `events` events.
    pub fn set_initial(&mut self, location: LocationId, token: u32, events: usize) {
        self.initial.entry(location).or_insert((token, events));
    }

    /// Whether it is known what `location` held before any write.
    pub fn knows_initial(&self, location: LocationId) -> bool {
        self.initial.contains_key(&location)
    }

    /// The spawn of a thread.
    pub fn spawn_of(&self, thread: ThreadId) -> Option<EventIndex> {
        let spawns =
            |vertex: &Vertex| vertex.operation.kind == OperationKind::Spawn && vertex.operation.detail == thread.0;
        self.stack.iter().position(spawns).map(|position| position as EventIndex)
    }

    /// What a read of `location` gets from a write.
    pub fn value(&self, source: EventIndex, location: LocationId) -> Value {
        if source == INITIAL {
            return self.initial.get(&location).map_or(Value::Initial, |(token, _)| Value::Token(*token));
        }
        self.get(source).value(location)
    }
}
