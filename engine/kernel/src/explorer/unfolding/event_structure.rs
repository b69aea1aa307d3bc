//! The events of the unfolding that are in use: a prime event structure, QPOR (CAV'18), sections 2 and 5.1.
//!
//! An event is an action after a history; it is the same event whenever the same thread does the same after the same
//! history. Since the past decides what a thread does next, an event is told by its thread, the alternative that it
//! drew, and its history, of which the last event of each thread is kept: the paper's `tmax`. So the events of a thread
//! form trees in which causality is ancestry (`trees`), and e < e' exactly if e is an ancestor of the last event of its
//! thread in the history of e' (Theorem 6).
//!
//! Where the paper has locks only, whose events form trees as well, we have every operation of ours. Two events are in
//! conflict exactly if, among the events in which their histories differ, two depend on each other: they are of one
//! thread, or access a location in modes that conflict. Both histories usually share most of what they have with the
//! configuration that is being explored, so only what goes beyond that is looked at.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::trees::{Trees, NONE};
use crate::execution::Event;
use crate::operation::{accesses_conflict, Accesses, ThreadId};

/// An event of the unfolding, by number.
pub type Number = u32;

struct Node {
    thread: ThreadId,
    outcome: u32,
    accesses: Accesses,
    /// The last event of each thread in its history without itself; NONE where there is none.
    causes: Box<[Number]>,
    /// How many events its history has, with itself.
    size: u32,
    /// Its place in the configuration that is being explored; NONE if it is not in it.
    place: u32,
}

impl Node {
    /// Whether it has this name: what tells an event from others are its thread, what it drew, and its history.
    fn is(&self, thread: ThreadId, outcome: u32, causes: &[Number]) -> bool {
        self.thread == thread && self.outcome == outcome && *self.causes == *causes
    }
}

#[derive(Default)]
pub struct EventStructure {
    nodes: Vec<Node>,
    trees: Trees,
    /// The events by hash of their names.
    names: FxHashMap<u64, SmallVec<[Number; 2]>>,
    /// Numbers that no event has any more.
    free: Vec<Number>,
    scratch: Vec<Number>,
}

impl EventStructure {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub fn thread(&self, event: Number) -> ThreadId {
        self.nodes[event as usize].thread
    }

    pub fn outcome(&self, event: Number) -> u32 {
        self.nodes[event as usize].outcome
    }

    /// How many events the history of an event has, with itself; larger than that of each of its causes.
    pub fn size(&self, event: Number) -> u32 {
        self.nodes[event as usize].size
    }

    /// The event that `event` of an execution is, after the history that `clock` counts. Added if it is new.
    pub fn intern(
        &mut self,
        event: &Event,
        outcome: u32,
        clock: &[u32],
        accesses: &Accesses,
        chains: &[Vec<Number>],
    ) -> Number {
        let own = event.thread.index();
        let cause = |(thread, count): (usize, &u32)| {
            let count = if thread == own { event.index } else { *count };
            if count == 0 {
                NONE
            } else {
                chains[thread][count as usize - 1]
            }
        };
        let mut causes = std::mem::take(&mut self.scratch);
        causes.clear();
        causes.extend(clock.iter().enumerate().map(cause));
        causes.resize(causes.len().max(own + 1), NONE);
        while causes.len() > own + 1 && causes.last() == Some(&NONE) {
            causes.pop();
        }
        let number = self.add(event.thread, outcome, &causes, accesses);
        self.scratch = causes;
        number
    }

    /// Another outcome of the same draw.
    pub fn alternative_outcome(&mut self, event: Number, outcome: u32) -> Number {
        let node = &self.nodes[event as usize];
        let (thread, causes, accesses) = (node.thread, node.causes.clone(), node.accesses.clone());
        self.add(thread, outcome, &causes, &accesses)
    }

    fn add(&mut self, thread: ThreadId, outcome: u32, causes: &[Number], accesses: &Accesses) -> Number {
        let hash = FxBuildHasher.hash_one((thread, outcome, causes));
        let named = self.names.entry(hash).or_default();
        if let Some(&known) = named.iter().find(|number| self.nodes[**number as usize].is(thread, outcome, causes)) {
            self.nodes[known as usize].accesses.clone_from(accesses);
            return known;
        }
        let own = causes[thread.index()];
        let size =
            1 + causes.iter().filter(|cause| **cause != NONE).map(|cause| self.trees.depth(*cause) + 1).sum::<u32>();
        let node = Node { thread, outcome, accesses: accesses.clone(), causes: causes.into(), size, place: NONE };
        let number = match self.free.pop() {
            Some(number) => {
                self.nodes[number as usize] = node;
                number
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as Number - 1
            }
        };
        self.trees.place(number, own);
        named.push(number);
        number
    }

    /// Note that the event is the configuration's `place`th, or NONE: that it has left it.
    pub fn set_place(&mut self, event: Number, place: u32) {
        self.nodes[event as usize].place = place;
    }

    /// `tmax`: the last event of a thread in the history of an event, with itself.
    fn last_of(&self, event: Number, thread: usize) -> Number {
        let node = &self.nodes[event as usize];
        if node.thread.index() == thread {
            event
        } else {
            node.causes.get(thread).copied().unwrap_or(NONE)
        }
    }

    /// Whether `cause` is `event` or in its history.
    pub fn contains(&self, event: Number, cause: Number) -> bool {
        let last = self.last_of(event, self.thread(cause).index());
        last != NONE && self.trees.is_ancestor(cause, last)
    }

    /// Whether two events do not commute.
    pub fn depends(&self, first: Number, second: Number) -> bool {
        let (first, second) = (&self.nodes[first as usize], &self.nodes[second as usize]);
        first.thread == second.thread || accesses_conflict(&first.accesses, &second.accesses)
    }

    /// The events of the history of `event`, itself first, that are not among the first `length` of the configuration,
    /// which must agree with it.
    pub fn beyond(&self, event: Number, length: u32) -> impl Iterator<Item = Number> + '_ {
        let new = move |event: Number| (event != NONE && self.nodes[event as usize].place >= length).then_some(event);
        let causes = self.nodes[event as usize].causes.iter();
        let threads = causes
            .flat_map(move |last| std::iter::successors(new(*last), move |event| new(self.trees.parent(*event))));
        std::iter::once(event).chain(threads)
    }

    /// Whether `event`, which agrees with the first `length` events of the configuration, agrees with `next` after
    /// them.
    pub fn agrees_after(&self, event: Number, length: u32, next: Number) -> bool {
        self.contains(event, next) || !self.beyond(event, length).any(|new| self.depends(new, next))
    }

    /// Whether two events are in conflict, given the parts of their histories beyond a configuration that neither is in
    /// conflict with.
    pub fn conflict_beyond(&self, first: &[Number], second: &[Number]) -> bool {
        first.iter().filter(|event| !second.contains(event)).any(|event| {
            second.iter().filter(|other| !first.contains(other)).any(|other| self.depends(*event, *other))
        })
    }

    /// Forget all events but those of `kept` and what is in their histories.
    pub fn retain(&mut self, kept: impl Iterator<Item = Number>) {
        let mut keep = vec![false; self.nodes.len()];
        let mut open: Vec<Number> = kept.collect();
        while let Some(event) = open.pop() {
            if !std::mem::replace(&mut keep[event as usize], true) {
                let causes = self.nodes[event as usize].causes.iter();
                open.extend(causes.filter(|cause| **cause != NONE && !keep[**cause as usize]));
            }
        }
        let (free, nodes) = (&mut self.free, &mut self.nodes);
        self.names.retain(|_, named| {
            named.retain(|number| {
                let kept = keep[*number as usize];
                if !kept {
                    nodes[*number as usize].causes = Box::default();
                    free.push(*number);
                }
                kept
            });
            !named.is_empty()
        });
    }
}
