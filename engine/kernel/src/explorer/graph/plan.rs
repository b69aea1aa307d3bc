//! What is explored next: a graph, as the order in which to re-run its events.

use super::relaxed::Coherence;
use super::trace::{Added, Deferred, NonMaximal, Part};
use crate::execution::Literal;
use crate::operation::ThreadId;

/// A thread and an index name an event in every execution.
pub type Name = (ThreadId, u32);

/// One event of a planned graph.
#[derive(Clone, Debug)]
pub struct Entry {
    pub thread: ThreadId,
    pub index: u32,
    pub outcome: u32,
    /// The condition that it decides, if it is a constraint event.
    pub condition: Option<u32>,
    pub added: Added,
    /// What a relaxed load reads from: a write, or the initial value.
    pub reads: Option<Option<Name>>,
}

impl Entry {
    /// The constraint that it adds to the path condition.
    pub fn literal(&self) -> Option<Literal> {
        self.condition.map(|condition| Literal { condition, taken: self.outcome != 0 })
    }
}

/// An event of a planned graph whose parts from `from` on have just been added (maximally), so that their other
/// options, and what the event then revisits, are still to be explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refreshed {
    pub thread: ThreadId,
    pub index: u32,
    pub from: Part,
}

/// A graph to be visited.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub entries: Vec<Entry>,
    /// The entry that was revisited, and the one that revisited it: the first may be blocked after the second.
    pub revisited: Option<(usize, usize)>,
    pub refreshed: Vec<Refreshed>,
    /// The coherence order of each location with relaxed writes.
    pub coherence: Coherence<Name>,
    pub non_maximal: Vec<NonMaximal>,
    pub deferred: Vec<Deferred>,
    /// The number of the next event that is added.
    pub next: u32,
}

impl Plan {
    /// An entry was put before those from `first` to (but not) `last`.
    pub fn displace(&mut self, first: usize, last: usize) {
        let moved = |position: usize| position + usize::from(first <= position && position < last);
        self.revisited = self.revisited.map(|(revisited, by)| (moved(revisited), moved(by)));
    }
}
