//! Partial orders over events (section 2.3). Every order respects the thread order, so that the events of a thread
//! before an event are a prefix, and one number a thread says which.

use super::events::{EventIndex, Events, INITIAL};

/// What an ordering would contradict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cyclic;

#[derive(Clone, Debug)]
pub struct PartialOrder {
    width: usize,
    /// Row `e`, column `p`: how many events of thread `p` come before or are `e`.
    rows: Vec<u32>,
}

impl PartialOrder {
    /// The order that the program itself imposes (thread order, spawn and join) and the reads that can observe one
    /// write only.
    pub fn of_program(events: &Events) -> PartialOrder {
        let mut order = PartialOrder { width: events.threads(), rows: Vec::new() };
        order.grow(events);
        order
    }

    /// Take in the events that the order does not know yet. None of them precedes a known one.
    pub fn grow(&mut self, events: &Events) {
        if events.threads() > self.width {
            let mut rows = Vec::with_capacity(events.len() * events.threads());
            for row in self.rows.chunks(self.width.max(1)) {
                rows.extend_from_slice(row);
                rows.resize(rows.len() + events.threads() - self.width, 0);
            }
            self.rows = rows;
            self.width = events.threads();
        }
        for event in self.len()..events.len() {
            let start = self.rows.len();
            self.rows.resize(start + self.width, 0);
            let vertex = events.get(event as EventIndex);
            for &predecessor in &vertex.predecessors {
                self.join(predecessor as usize, event);
            }
            for observation in &vertex.reads {
                if let [source] = observation.good[..] {
                    if source != INITIAL {
                        self.join(source as usize, event);
                    }
                }
            }
            self.rows[start + vertex.thread.index()] = vertex.index + 1;
        }
    }

    fn len(&self) -> usize {
        self.rows.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether `first` comes before `second` (or is it).
    #[inline]
    pub fn precedes(&self, events: &Events, first: EventIndex, second: EventIndex) -> bool {
        let vertex = events.get(first);
        self.rows[second as usize * self.width + vertex.thread.index()] > vertex.index
    }

    pub fn unordered(&self, events: &Events, first: EventIndex, second: EventIndex) -> bool {
        !self.precedes(events, first, second) && !self.precedes(events, second, first)
    }

    /// How many events of each thread come before or are `event`.
    pub fn row(&self, event: EventIndex) -> &[u32] {
        &self.rows[event as usize * self.width..(event as usize + 1) * self.width]
    }

    /// Insert `first -> second`. Returns whether that is new.
    pub fn insert(&mut self, events: &Events, first: EventIndex, second: EventIndex) -> Result<bool, Cyclic> {
        if self.precedes(events, first, second) {
            return Ok(false);
        }
        if self.precedes(events, second, first) {
            return Err(Cyclic);
        }
        for event in 0..self.len() {
            if self.precedes(events, second, event as EventIndex) {
                self.join(first as usize, event);
            }
        }
        Ok(true)
    }

    fn join(&mut self, from: usize, into: usize) {
        for column in 0..self.width {
            let theirs = self.rows[from * self.width + column];
            let mine = &mut self.rows[into * self.width + column];
            *mine = theirs.max(*mine);
        }
    }
}
