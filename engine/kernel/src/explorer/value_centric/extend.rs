//! The reads that can extend an annotated partial order, the writes that each may observe, and which of them earlier
//! branches have covered (section 5: candidate writes, causally-happens-before maps, and the sets `Y` and `GoodW` of
//! algorithms 6 and 7).
//!
//! The paper keeps in `C(r)(p)` the last read of thread p before which all writes have been considered for r. As the
//! partial order then held every event of p up to p's next read, we keep the number of those events: a write is
//! covered if it is among them. That also covers what a thread writes before its first read once it was spawned.
//!
//! Good writes are those of one value, of one side if the read is the root's, and with one causal past: the paper's
//! algorithm lets a read observe any write of the value, which merges traces that its equivalence keeps apart
//! (condition 2: causally-happens-before agrees on reads). With the past in the key, one annotated partial order is
//! one class, and every class is met.

use std::rc::Rc;

use smallvec::SmallVec;

use super::events::{join_past, trimmed, EventIndex, Events, Observation, Observations, Past, Value, INITIAL};
use super::order::PartialOrder;
use super::shape::{Condition, Locations, Shape};
use crate::operation::{LocationId, Operation, ThreadId};

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

/// One way to add a read: what it observes, and so what it writes.
#[derive(Clone, Debug)]
pub struct Extension {
    pub outcome: u32,
    pub reads: Observations,
    pub writes: Locations,
}

/// `C`: for reads that earlier branches have extended, how many events of each thread these branches had.
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

/// What one group of good writes has in common.
#[derive(PartialEq, Eq)]
struct Key {
    values: SmallVec<[Value; 1]>,
    /// The writes themselves, if there are several locations: their groups are no products.
    sources: SmallVec<[EventIndex; 2]>,
    local: bool,
    past: Past,
    writes_target: bool,
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
    let counts = covered.of(read);
    let is_covered = |source: EventIndex| {
        counts.is_some_and(|counts| {
            source == INITIAL || {
                let vertex = events.get(source);
                counts.get(vertex.thread.index()).is_some_and(|count| vertex.index < *count)
            }
        })
    };
    let choices: Vec<Vec<EventIndex>> =
        read.shape.reads.iter().map(|location| candidates(events, order, read, *location)).collect();
    let mut found: Vec<(Key, Extension)> = Vec::new();
    for combination in product(&choices) {
        if combination.iter().all(|source| is_covered(*source)) {
            continue;
        }
        let value = |position: usize| events.value(combination[position], read.shape.reads[position]);
        let mut writes = read.shape.writes.clone();
        let mut writes_target = false;
        match read.shape.condition {
            Condition::Nothing => {}
            Condition::Needs(test) | Condition::WritesIf(test) => {
                let target = read.shape.reads.iter().position(|location| *location == read.operation.target);
                let Some(Value::Token(token)) = target.map(value) else { return Err(Incomparable) };
                writes_target = test.passes(token);
                if matches!(read.shape.condition, Condition::Needs(_)) {
                    if !writes_target {
                        continue;
                    }
                } else if writes_target {
                    writes.push(read.operation.target);
                }
            }
        }
        let mut past = read.past_before.clone();
        for &source in combination.iter().filter(|source| **source != INITIAL) {
            join_past(&mut past, &events.get(source).past);
        }
        let single = combination.len() == 1;
        let key = Key {
            values: (0..combination.len()).map(value).collect(),
            sources: if single { SmallVec::new() } else { combination.clone() },
            local: Some(read.thread) == root && single && is_local(events, root, combination[0]),
            past: trimmed(past),
            writes_target,
        };
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, extension)) if single => extension.reads[0].good.push(combination[0]),
            Some(_) => {}
            None => {
                let observe = |(location, source): (&_, &EventIndex)| Observation {
                    location: *location,
                    good: SmallVec::from_elem(*source, 1),
                };
                let reads = read.shape.reads.iter().zip(&combination).map(observe).collect();
                found.push((key, Extension { outcome: 0, reads, writes }));
            }
        }
    }
    Ok(found.into_iter().map(|(_, extension)| extension).collect())
}

/// The writes of `location` that the order does not hide from the read.
fn candidates(events: &Events, order: &PartialOrder, read: &Pending, location: LocationId) -> Vec<EventIndex> {
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
fn product(choices: &[Vec<EventIndex>]) -> Vec<SmallVec<[EventIndex; 2]>> {
    let mut combinations = vec![SmallVec::new()];
    for choice in choices {
        let longer = |prefix: &SmallVec<[EventIndex; 2]>| {
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
