//! Which reads of a node have to be tried in the place of the one that was explored first.
//!
//! Let `r` be a read that extends a node in all ways, with nothing covered for it before, and that the node's trace
//! could take next. A trace that no extension by `r` stands for has `r` observe a write that comes later, or wait for
//! ever. Take such a trace, and in it the first later event `w` of another thread that touches what `r` does: that
//! writes what `r` reads, or, if `r` writes as well, that reads or writes it. What comes before `w` does not notice
//! whether `r` has happened, and neither `r` nor what follows it is in the causal past of `w`. So the same events with
//! `r` first are a trace too, the exploration below `r` comes to it unless an earlier branch has, and there the thread
//! of `w` stands before `w`: performed or pending, `w` is seen.
//!
//! What `w` itself reads, it observes in the node: it is the first to touch it. So of the reads that the node can be
//! extended with, one is `w` or in its causal past and observes a write that the node has. It is enough to explore
//! these, for all such `w` that are seen; if there are none, then `r` alone. The argument is by induction over traces
//! that need not be maximal, and holds below `r` as well. (This is to annotated partial orders what source sets are to
//! interleavings: Abdulla, Aronis, Jonsson, Sagonas, JACM'17. As there, what is explored in place of `r` can end in a
//! trace in which `r` waits in vain, which is counted as redundant.)

use super::events::Past;
use super::extend::Pending;
use super::shape::{Condition, Locations};
use super::{Node, ValueCentric};
use crate::operation::ThreadId;

/// What one event or pending operation may touch.
struct Touch<'a> {
    thread: ThreadId,
    reads: Locations,
    writes: Locations,
    past_before: &'a Past,
}

impl Touch<'_> {
    /// Whether the event may have to come after the read: the read is of its thread, or in its causal past. What an
    /// event that reads several locations observes at the others may come from anywhere.
    fn may_follow(&self, read: &Pending) -> bool {
        self.thread == read.thread || self.reads.len() > 1 || self.has_seen(read)
    }

    fn has_seen(&self, read: &Pending) -> bool {
        self.past_before.get(read.thread.index()).is_some_and(|count| *count > read.index)
    }
}

impl Pending {
    /// What it may write, whatever it finds.
    pub fn possible_writes(&self) -> Locations {
        let mut writes = self.shape.writes.clone();
        if matches!(self.shape.condition, Condition::WritesIf(_)) {
            writes.push(self.operation.target);
        }
        writes
    }

    fn touch(&self) -> Touch<'_> {
        Touch {
            thread: self.thread,
            reads: self.shape.reads.clone(),
            writes: self.possible_writes(),
            past_before: &self.past_before,
        }
    }

    /// Whether an event could have come before this read, and made a difference to it or it to the event.
    fn races_with(&self, other: &Touch) -> bool {
        let shares = |mine: &Locations, theirs: &Locations| mine.iter().any(|location| theirs.contains(location));
        let writes = self.possible_writes();
        other.thread != self.thread
            && (shares(&self.shape.reads, &other.writes)
                || shares(&writes, &other.writes)
                || shares(&writes, &other.reads))
            && !other.has_seen(self)
    }
}

impl Node {
    fn note_race(&mut self, read: usize, other: &Touch) {
        if self.pending[read].races_with(other) {
            for (wanted, candidate) in self.wanted.iter_mut().zip(&self.pending) {
                *wanted |= other.may_follow(candidate);
            }
        }
    }
}

impl ValueCentric {
    /// Compare what is new in the last execution with the reads that the nodes explore. After an execution that was
    /// cut off nothing is known of what would have followed.
    pub(super) fn note_races(&mut self, cut: bool) {
        let waiting = match self.nodes.last() {
            Some(node) if node.current.is_none() => node.pending.clone(),
            _ => Vec::new(),
        };
        for node in &mut self.nodes {
            let Some(read) = node.current.as_ref().filter(|current| current.decides).map(|current| current.read)
            else {
                continue;
            };
            if cut {
                node.wanted.fill(true);
                continue;
            }
            let first = self.unseen.max(node.length).min(self.events.len());
            for vertex in self.events.from(first) {
                let touch = Touch {
                    thread: vertex.thread,
                    reads: vertex.reads.iter().map(|read| read.location).collect(),
                    writes: vertex.possible_writes.clone(),
                    past_before: &vertex.past_before,
                };
                node.note_race(read, &touch);
            }
            for other in &waiting {
                node.note_race(read, &other.touch());
            }
        }
        self.unseen = self.events.len();
    }
}
