//! `Realize` (section 4.3): a witness trace of an annotated partial order, or the proof that there is none.
//!
//! The paper orders every two conflicting events of leaves when `Extend` adds them; then a closed order has a witness
//! in which the root's events come as early as the order lets them (lemma 4.1), and it relaxes that for writes that no
//! read can tell apart (section 6, implementation detail 3). We order two events of leaves only when no witness is
//! found without that: each order is tried in its turn, closed again. Once all conflicting events are ordered every
//! linearisation observes the same, so the search ends, and it finds a witness if there is one. The order that is found
//! belongs to the witness alone; the annotated partial order keeps only what every witness has.

use rustc_hash::FxHashMap;

use super::closure::close;
use super::events::{EventIndex, Events, Observation, INITIAL};
use super::order::PartialOrder;
use crate::operation::{LocationId, ThreadId};

/// A linearisation of `order` in which each read observes a good write. Where nothing else matters its events come in
/// the order of `hint`, which is a linearisation of some of them.
pub fn realise(
    events: &Events,
    order: PartialOrder,
    hint: &[EventIndex],
    root: Option<ThreadId>,
) -> Option<Vec<EventIndex>> {
    let mut ranks = vec![hint.len() as u32; events.len()];
    for (position, &event) in hint.iter().enumerate() {
        ranks[event as usize] = position as u32;
    }
    // Lemma 4.1: the root's events first.
    let mut early = ranks.clone();
    for (event, rank) in early.iter_mut().enumerate() {
        if Some(events.get(event as EventIndex).thread) != root {
            *rank += events.len() as u32 + 1;
        }
    }
    let mut open = vec![order];
    while let Some(mut order) = open.pop() {
        if close(events, &mut order).is_err() {
            continue;
        }
        let mut last = None;
        for ranks in [&ranks, &early] {
            match Linearisation::new(events, &order, ranks).run() {
                Ok(trace) => return Some(trace),
                Err(pair) => last = pair,
            }
        }
        let Some((first, second)) = last.or_else(|| unordered_conflict(events, &order)) else { continue };
        let mut reversed = order.clone();
        if reversed.insert(events, second, first).is_ok() {
            open.push(reversed);
        }
        if order.insert(events, first, second).is_ok() {
            open.push(order);
        }
    }
    None
}

/// Two unordered events of which one writes what the other reads or writes.
fn unordered_conflict(events: &Events, order: &PartialOrder) -> Option<(EventIndex, EventIndex)> {
    for read in 0..events.len() as EventIndex {
        for observation in &events.get(read).reads {
            let writers = events.writers(observation.location);
            for (position, &write) in writers.iter().enumerate() {
                if write != read && order.unordered(events, read, write) {
                    return Some((read, write));
                }
                for &other in &writers[..position] {
                    if order.unordered(events, other, write) {
                        return Some((other, write));
                    }
                }
            }
        }
    }
    None
}

/// Puts one event after another that the order lets come next, that observes a good write, and that hides no good
/// write from a read which has no other.
struct Linearisation<'a> {
    events: &'a Events,
    order: &'a PartialOrder,
    ranks: &'a [u32],
    /// How many events of each thread are placed.
    placed: Vec<u32>,
    trace: Vec<EventIndex>,
    last: FxHashMap<LocationId, EventIndex>,
    /// The reads of each location, with what they may observe.
    readers: FxHashMap<LocationId, Vec<(EventIndex, &'a Observation)>>,
}

type Pair = Option<(EventIndex, EventIndex)>;

impl<'a> Linearisation<'a> {
    fn new(events: &'a Events, order: &'a PartialOrder, ranks: &'a [u32]) -> Linearisation<'a> {
        let mut readers: FxHashMap<LocationId, Vec<(EventIndex, &Observation)>> = FxHashMap::default();
        for event in 0..events.len() as EventIndex {
            for observation in &events.get(event).reads {
                readers.entry(observation.location).or_default().push((event, observation));
            }
        }
        let placed = vec![0; events.threads()];
        Linearisation { events, order, ranks, placed, trace: Vec::new(), last: FxHashMap::default(), readers }
    }

    /// The trace; if there is none, a pair of unordered events that are in each other's way, if such a pair is known.
    fn run(mut self) -> Result<Vec<EventIndex>, Pair> {
        while self.trace.len() < self.events.len() {
            let event = self.choose()?;
            let vertex = self.events.get(event);
            self.placed[vertex.thread.index()] += 1;
            for location in &vertex.writes {
                self.last.insert(*location, event);
            }
            self.trace.push(event);
        }
        Ok(self.trace)
    }

    fn is_placed(&self, event: EventIndex) -> bool {
        let vertex = self.events.get(event);
        self.placed[vertex.thread.index()] > vertex.index
    }

    fn choose(&self) -> Result<EventIndex, Pair> {
        let mut best = None;
        let mut obstacle = None;
        for thread in 0..self.placed.len() {
            let Some(event) = self.events.find(ThreadId(thread as u32), self.placed[thread]) else { continue };
            let row = self.order.row(event);
            let ready = (0..row.len()).all(|other| other == thread || row[other] <= self.placed[other]);
            if !ready {
                continue;
            }
            match self.obstacle(event) {
                None => {
                    let rank = (self.ranks[event as usize], event);
                    if best.is_none_or(|chosen| rank < chosen) {
                        best = Some(rank);
                    }
                }
                Some(pair) => obstacle = obstacle.or(pair),
            }
        }
        best.map(|(_, event)| event).ok_or(obstacle)
    }

    /// Why the event should not come next; in it, two unordered events to order.
    fn obstacle(&self, event: EventIndex) -> Option<Pair> {
        let vertex = self.events.get(event);
        for observation in &vertex.reads {
            let last = self.last.get(&observation.location).copied().unwrap_or(INITIAL);
            if !observation.good.contains(&last) {
                return Some(self.in_the_way(event, observation, last));
            }
        }
        for location in &vertex.writes {
            let last = self.last.get(location).copied().unwrap_or(INITIAL);
            for (read, observation) in self.readers.get(location).into_iter().flatten() {
                if *read == event || self.is_placed(*read) || observation.good.contains(&event) {
                    continue;
                }
                let comes_later = |&good: &EventIndex| good != INITIAL && good != event && !self.is_placed(good);
                if observation.good.contains(&last) && !observation.good.iter().any(comes_later) {
                    return Some(self.in_the_way(*read, observation, event));
                }
            }
        }
        None
    }

    /// `bad` stands between the read and its good writes: the pair whose order is open.
    fn in_the_way(&self, read: EventIndex, observation: &Observation, bad: EventIndex) -> Pair {
        if bad == INITIAL {
            return None;
        }
        if self.order.unordered(self.events, read, bad) {
            return Some((read, bad));
        }
        observation
            .good
            .iter()
            .copied()
            .find(|&good| good != INITIAL && self.order.unordered(self.events, good, bad))
            .map(|good| (bad, good))
    }
}
