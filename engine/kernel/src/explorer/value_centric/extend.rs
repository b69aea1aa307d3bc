//! The reads that can extend an annotated partial order and the writes that each may observe (section 5: candidate
//! writes, and the sets `Y` and `GoodW` of algorithms 6 and 7).
//!
//! Good writes are those of one value, of one side if the read is the root's, and with one causal past: the paper's
//! algorithm lets a read observe any write of the value, which merges traces that its equivalence keeps apart
//! (condition 2: causally-happens-before agrees on reads). With the past in the key, one annotated partial order is
//! one class, and every class is met.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use smallvec::SmallVec;

use super::events::{
    join_past, trimmed, EventIndex, Events, Observation, Observations, Past, Value, Vertex, INITIAL,
};
use super::order::PartialOrder;
use super::shape::{Condition, Locations, Shape};
use crate::operation::{LocationId, Operation, ThreadId};

/// What a read observes, one write for each of its locations.
pub type Sources = SmallVec<[EventIndex; 2]>;

/// A read event that can be added: the next of its thread.
#[derive(Clone, Debug)]
pub struct Pending {
    pub thread: ThreadId,
    pub index: u32,
    pub operation: Operation,
    pub shape: Shape,
    /// Whether the thread can take the step in the trace that the node was reached by.
    pub enabled: bool,
    pub predecessors: SmallVec<[EventIndex; 2]>,
    pub past_before: Past,
}

impl Pending {
    /// The read that an event is, as it was before it was added.
    pub fn of(vertex: &Vertex) -> Pending {
        Pending {
            thread: vertex.thread,
            index: vertex.index,
            operation: vertex.operation,
            shape: vertex.shape.clone(),
            enabled: true,
            predecessors: vertex.predecessors.clone(),
            past_before: vertex.past_before.clone(),
        }
    }

    pub fn possible_writes(&self) -> Locations {
        self.shape.possible_writes(self.operation.target)
    }

    /// Whether it waits until the state lets it happen.
    pub fn waits(&self) -> bool {
        matches!(self.shape.condition, Condition::Needs(_))
    }

    /// Whether it is in this past.
    pub fn is_in(&self, past: &[u32]) -> bool {
        past.get(self.thread.index()).is_some_and(|count| *count > self.index)
    }

    pub fn is(&self, other: &Pending) -> bool {
        (self.thread, self.index) == (other.thread, other.index)
    }

    /// The reads that causally happen before it if it observes these writes.
    pub fn past_of(&self, events: &Events, sources: &[EventIndex]) -> Past {
        let mut past = self.past_before.clone();
        for &source in sources.iter().filter(|source| **source != INITIAL) {
            join_past(&mut past, &events.get(source).past);
        }
        trimmed(past)
    }

    pub fn vertex(&self, extension: Extension) -> Vertex {
        Vertex {
            thread: self.thread,
            index: self.index,
            operation: self.operation,
            outcome: extension.outcome,
            reads: extension.reads,
            writes: extension.writes,
            shape: self.shape.clone(),
            is_read: true,
            supposed: false,
            token: None,
            predecessors: self.predecessors.clone(),
            past: self.past_before.clone(),
            past_before: self.past_before.clone(),
        }
    }
}

/// One way to add a read: what it observes, and so what it writes.
#[derive(Clone, Debug)]
pub struct Extension {
    pub outcome: u32,
    pub reads: Observations,
    pub writes: Locations,
}

/// Reads that must not observe what a node of an earlier branch had, with how many events of each thread that were.
#[derive(Clone, Default, Debug)]
pub struct Covered {
    entries: Vec<(ThreadId, u32, Rc<Vec<u32>>)>,
}

impl Covered {
    fn of(&self, read: &Pending) -> Option<&[u32]> {
        let same = |entry: &&(ThreadId, u32, Rc<Vec<u32>>)| entry.0 == read.thread && entry.1 == read.index;
        self.entries.iter().find(same).map(|entry| entry.2.as_slice())
    }

    pub fn covers_some(&self, read: &Pending) -> bool {
        self.of(read).is_some()
    }

    /// Whether the read must not observe these writes.
    pub fn covers(&self, events: &Events, read: &Pending, sources: &[EventIndex]) -> bool {
        let Some(counts) = self.of(read) else { return false };
        sources.iter().all(|&source| {
            source == INITIAL || {
                let vertex = events.get(source);
                counts.get(vertex.thread.index()).is_some_and(|count| vertex.index < *count)
            }
        })
    }

    pub fn set(&mut self, read: &Pending, counts: Rc<Vec<u32>>) {
        self.entries.retain(|entry| !(entry.0 == read.thread && entry.1 == read.index));
        self.entries.push((read.thread, read.index, counts));
    }

    /// Without the reads that have been added since.
    pub fn without_performed(&self, events: &Events) -> Covered {
        let waits = |entry: &&(ThreadId, u32, Rc<Vec<u32>>)| events.find(entry.0, entry.1).is_none();
        Covered { entries: self.entries.iter().filter(waits).cloned().collect() }
    }
}

/// On which side of the root a write is: the side function of section 2.1.
pub fn is_local(events: &Events, root: Option<ThreadId>, source: EventIndex) -> bool {
    source != INITIAL && Some(events.get(source).thread) == root
}

/// What an operation would do depends on a value that cannot be compared.
#[derive(Clone, Copy, Debug)]
pub struct Incomparable;

/// What the good writes of a read have in common, and the annotation of the read with them.
#[derive(PartialEq, Eq, Hash)]
pub struct Key {
    read: (ThreadId, u32, u32),
    values: SmallVec<[Value; 1]>,
    /// The writes themselves instead, if there are several locations: their groups are no products.
    sources: SmallVec<[(ThreadId, u32); 2]>,
    local: bool,
    past: Past,
}

impl Key {
    pub fn new(events: &Events, read: &Pending, outcome: u32, sources: &[EventIndex], root: Option<ThreadId>) -> Key {
        let single = sources.len() == 1;
        let value = |(location, source): (&LocationId, &EventIndex)| events.value(*source, *location);
        let identity = |source: &EventIndex| events.identity(*source);
        Key {
            read: (read.thread, read.index, outcome),
            values: read.shape.reads.iter().zip(sources).filter(|_| single).map(value).collect(),
            sources: if single { SmallVec::new() } else { sources.iter().map(identity).collect() },
            local: Some(read.thread) == root && single && is_local(events, root, sources[0]),
            past: read.past_of(events, sources),
        }
    }

    pub fn of(events: &Events, vertex: &Vertex, root: Option<ThreadId>) -> Key {
        let sources: Sources = vertex.reads.iter().map(|observation| observation.good[0]).collect();
        Key::new(events, &Pending::of(vertex), vertex.outcome, &sources, root)
    }

    /// A number for it. Those of the reads of a set add up to one for the set.
    pub fn number(&self) -> u128 {
        number(self)
    }
}

pub fn number(what: impl Hash) -> u128 {
    let hash = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, &what).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    hash(0x9e37_79b9) << 64 | hash(0x85eb_ca6b_c2b2_ae35)
}

/// What the read writes if it observes these writes; None if it cannot happen then.
pub fn writes_after(
    events: &Events,
    read: &Pending,
    sources: &[EventIndex],
) -> Result<Option<Locations>, Incomparable> {
    let mut writes = read.shape.writes.clone();
    let (Condition::Needs(test) | Condition::WritesIf(test)) = read.shape.condition else { return Ok(Some(writes)) };
    let position = read.shape.reads.iter().position(|location| *location == read.operation.target);
    let Some(position) = position else { return Err(Incomparable) };
    let Value::Token(token) = events.value(sources[position], read.operation.target) else {
        return Err(Incomparable);
    };
    let passes = test.passes(token);
    if matches!(read.shape.condition, Condition::Needs(_)) {
        return Ok(passes.then_some(writes));
    }
    if passes {
        writes.push(read.operation.target);
    }
    Ok(Some(writes))
}

/// The writes that a read which observes one of them may observe in its place; `eligible` says among which.
pub fn good_writes(
    events: &Events,
    read: &Pending,
    source: EventIndex,
    root: Option<ThreadId>,
    eligible: impl Fn(EventIndex) -> bool,
) -> SmallVec<[EventIndex; 2]> {
    let location = read.shape.reads[0];
    let key = Key::new(events, read, 0, &[source], root);
    let writers = events.writers(location).iter().copied().chain([INITIAL]);
    let same = |write: &EventIndex| eligible(*write) && Key::new(events, read, 0, &[*write], root) == key;
    let mut good: SmallVec<[EventIndex; 2]> = writers.filter(same).collect();
    if !good.contains(&source) {
        good.push(source);
    }
    good
}

/// The ways to extend the partial order of `events` with `read`.
pub fn extensions(
    events: &Events,
    order: &PartialOrder,
    covered: &Covered,
    read: &Pending,
    root: Option<ThreadId>,
) -> Result<Vec<Extension>, Incomparable> {
    if read.shape.reads.is_empty() {
        // A drawn value: all alternatives are explored where it is first drawn.
        if covered.covers_some(read) {
            return Ok(Vec::new());
        }
        let draw = |outcome| Extension { outcome, reads: Observations::new(), writes: Locations::new() };
        return Ok((0..read.shape.alternatives).map(draw).collect());
    }
    let choices: Vec<Vec<EventIndex>> =
        read.shape.reads.iter().map(|location| candidates(events, order, read, *location)).collect();
    let mut found: Vec<(Key, Extension)> = Vec::new();
    for combination in product(&choices) {
        if covered.covers(events, read, &combination) {
            continue;
        }
        let Some(writes) = writes_after(events, read, &combination)? else { continue };
        let key = Key::new(events, read, 0, &combination, root);
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, extension)) if combination.len() == 1 => extension.reads[0].good.push(combination[0]),
            Some(_) => {}
            None => found.push((key, Extension { outcome: 0, reads: observations(read, &combination), writes })),
        }
    }
    // A write that is taken here stays among the good ones of its group: elsewhere it may not be.
    let is_possible = |extension: &Extension| {
        let [observation] = &extension.reads[..] else { return true };
        observation.good.iter().any(|source| !is_late(events, read, &[*source], &extension.writes, |_| true))
    };
    Ok(found.into_iter().map(|(_, extension)| extension).filter(is_possible).collect())
}

/// Whether the read would write what it reads where another event that counts has done that already.
pub fn is_late(
    events: &Events,
    read: &Pending,
    sources: &[EventIndex],
    writes: &Locations,
    counts: impl Fn(EventIndex) -> bool,
) -> bool {
    let mut pairs = read.shape.reads.iter().zip(sources);
    pairs.any(|(location, source)| writes.contains(location) && events.is_taken(*source, *location, &counts))
}

/// That the read observes exactly these writes.
pub fn observations(read: &Pending, sources: &[EventIndex]) -> Observations {
    let observe = |(location, source): (&LocationId, &EventIndex)| Observation {
        location: *location,
        good: SmallVec::from_elem(*source, 1),
    };
    read.shape.reads.iter().zip(sources).map(observe).collect()
}

/// The writes of `location` that the order does not hide from the read.
pub fn candidates(events: &Events, order: &PartialOrder, read: &Pending, location: LocationId) -> Vec<EventIndex> {
    let precedes_read =
        |event: EventIndex| read.predecessors.iter().any(|&before| order.precedes(events, event, before));
    let writers = events.writers(location);
    let earlier: Vec<EventIndex> = writers.iter().copied().filter(|&write| precedes_read(write)).collect();
    let hidden =
        |write: EventIndex| earlier.iter().any(|&other| other != write && order.precedes(events, write, other));
    let mut found: Vec<EventIndex> = writers.iter().copied().filter(|&write| !hidden(write)).collect();
    if earlier.is_empty() {
        found.push(INITIAL);
    }
    found
}

/// All ways to pick one of each.
pub fn product(choices: &[Vec<EventIndex>]) -> Vec<Sources> {
    let mut combinations = vec![SmallVec::new()];
    for choice in choices {
        let longer = |prefix: &Sources| {
            let prefix = prefix.clone();
            choice.iter().map(move |source| {
                let mut longer = prefix.clone();
                longer.push(*source);
                longer
            })
        };
        combinations = combinations.iter().flat_map(|prefix| longer(prefix).collect::<Vec<_>>()).collect();
    }
    combinations
}
