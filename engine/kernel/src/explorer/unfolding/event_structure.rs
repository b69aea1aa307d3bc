//! The part `U` of the unfolding that is known: a prime event structure, QPOR (CAV'18), sections 2 and 5.1.
//!
//! An event is an action after a history; it is the same event whenever the same thread does the same after the same
//! history. Since the past decides what a thread does next, an event is told by its thread, the alternative that it
//! drew, and its history, of which the last event of each thread is kept: the paper's `tmax`. So the events of a thread
//! form trees in which causality is ancestry (`trees`), and e < e' exactly if e is an ancestor of the last event of its
//! thread in the history of e' (Theorem 6).
//!
//! Where the paper has locks only, whose events form trees as well, we have every operation of ours. Two events are in
//! conflict exactly if, among the events in which their histories differ, two depend on each other: they are of one
//! thread, or touch a location in modes that conflict. Both histories usually share most of what they have with the
//! configuration that is being explored, so only what goes beyond that is looked at.

use rustc_hash::FxHashMap;

use super::trees::{Trees, NONE};
use crate::execution::{Event, Execution};
use crate::operation::{accesses_conflict, Access, Accesses, LocationId, ThreadId};

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
    /// Whether it may be needed for alternatives.
    listed: bool,
}

/// What tells an event from others: its thread, what it drew, and its history.
type Name = (ThreadId, u32, Box<[Number]>);

#[derive(Default)]
pub struct EventStructure {
    nodes: Vec<Node>,
    trees: Trees,
    names: FxHashMap<Name, Number>,
    /// Events by thread and preceding event of the thread: those of one entry are in conflict.
    siblings: FxHashMap<(ThreadId, Number), Vec<Number>>,
    /// How many events that may be needed for alternatives touch a location, where there are any.
    listed: FxHashMap<LocationId, u32>,
    /// How many threads there are.
    width: usize,
}

/// The configuration `C` that is being explored: a prefix of an execution, as events of the unfolding.
pub struct Configuration<'a> {
    pub execution: &'a Execution,
    /// How many events of the execution belong to it.
    pub length: usize,
    /// The events of each thread, in order, of which the first `counts` belong to it.
    pub chains: &'a [Vec<Number>],
    pub counts: &'a [u32],
}

impl Configuration<'_> {
    fn count(&self, thread: usize) -> u32 {
        self.counts.get(thread).copied().unwrap_or(0)
    }
}

/// The latest events of a configuration that conflict with an access, by thread and place in the thread.
#[derive(Default)]
struct Latest {
    known: Vec<(Access, Vec<(usize, u32)>)>,
}

impl Latest {
    fn conflicts(&mut self, access: Access, configuration: &Configuration) -> &[(usize, u32)] {
        let position = self.known.iter().position(|(known, _)| *known == access).unwrap_or_else(|| {
            let event = |id| configuration.execution.event(id);
            let latest = configuration.execution.last_conflicts(access, configuration.length);
            let places = latest.map(|id| (event(id).thread.index(), event(id).index)).collect();
            self.known.push((access, places));
            self.known.len() - 1
        });
        &self.known[position].1
    }
}

impl EventStructure {
    pub fn len(&self) -> usize {
        self.nodes.len()
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
        let mut causes: Vec<Number> = clock.iter().enumerate().map(cause).collect();
        causes.resize(causes.len().max(own + 1), NONE);
        while causes.len() > own + 1 && causes.last() == Some(&NONE) {
            causes.pop();
        }
        self.add(event.thread, outcome, causes.into_boxed_slice(), accesses)
    }

    /// Another outcome of the same draw.
    pub fn alternative_outcome(&mut self, event: Number, outcome: u32) -> Number {
        let node = &self.nodes[event as usize];
        let (thread, causes, accesses) = (node.thread, node.causes.clone(), node.accesses.clone());
        self.add(thread, outcome, causes, &accesses)
    }

    fn add(&mut self, thread: ThreadId, outcome: u32, causes: Box<[Number]>, accesses: &Accesses) -> Number {
        let name: Name = (thread, outcome, causes);
        if let Some(&known) = self.names.get(&name) {
            self.nodes[known as usize].accesses.clone_from(accesses);
            return known;
        }
        let causes = name.2.clone();
        self.width = self.width.max(thread.index() + 1);
        let parent = causes[thread.index()];
        let number = self.trees.add(parent);
        let size =
            1 + causes.iter().filter(|cause| **cause != NONE).map(|cause| self.trees.depth(*cause) + 1).sum::<u32>();
        self.nodes.push(Node { thread, outcome, accesses: accesses.clone(), causes, size, listed: false });
        self.siblings.entry((thread, parent)).or_default().push(number);
        self.names.insert(name, number);
        number
    }

    /// Keep an event among those that alternatives are made of.
    pub fn list(&mut self, event: Number) {
        let node = &mut self.nodes[event as usize];
        if std::mem::replace(&mut node.listed, true) {
            return;
        }
        for access in &node.accesses {
            *self.listed.entry(access.location).or_default() += 1;
        }
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

    /// Whether any known event could be in immediate conflict with this one; cheap, and most often false.
    pub fn may_conflict(&self, event: Number) -> bool {
        let node = &self.nodes[event as usize];
        let siblings = self.siblings.get(&(node.thread, self.trees.parent(event)));
        siblings.is_some_and(|siblings| siblings.len() > 1)
            || node.accesses.iter().any(|access| self.listed.contains_key(&access.location))
    }

    /// The events beyond the configuration that agree with it and need none of `disabled`, each with its history beyond
    /// the configuration. What an event that does not agree causes need not be looked at.
    pub fn extensions(&self, configuration: &Configuration, disabled: &[Number]) -> Vec<Vec<Number>> {
        let mut found = Vec::new();
        let mut open: Vec<Number> = Vec::new();
        let mut latest = Latest::default();
        for thread in 0..self.width {
            let count = configuration.count(thread) as usize;
            let last = if count == 0 { NONE } else { configuration.chains[thread][count - 1] };
            open.extend(self.siblings.get(&(ThreadId(thread as u32), last)).into_iter().flatten());
        }
        while let Some(event) = open.pop() {
            let Some(beyond) = self.beyond(event, configuration, disabled, &mut latest) else { continue };
            open.extend(self.siblings.get(&(self.thread(event), event)).into_iter().flatten());
            found.push(beyond);
        }
        found
    }

    /// Whether two events depend on each other, and neither is in the other's history.
    pub fn immediate_conflict(&self, first: Number, second: Number) -> bool {
        self.depends(first, second) && !self.contains(second, first) && !self.contains(first, second)
    }

    /// Whether the threads of the event's history go the way that they go in the configuration.
    fn follows(&self, event: Number, configuration: &Configuration) -> bool {
        let own = self.thread(event).index();
        self.nodes[event as usize].causes.iter().enumerate().all(|(thread, &last)| {
            let count = configuration.count(thread);
            if last == NONE {
                return thread != own || count == 0;
            }
            let depth = self.trees.depth(last);
            let shared = depth.min(count.wrapping_sub(1));
            (thread != own || depth + 1 >= count)
                && (count == 0 || self.trees.ancestor(last, shared) == configuration.chains[thread][shared as usize])
        })
    }

    /// The history of `event` without the configuration, itself first, or None if the two are in conflict or it needs one
    /// of `disabled`.
    fn beyond(
        &self,
        event: Number,
        configuration: &Configuration,
        disabled: &[Number],
        latest: &mut Latest,
    ) -> Option<Vec<Number>> {
        let mut agrees = |new: Number| {
            let in_history = |(thread, index): &(usize, u32)| {
                let last = self.last_of(event, *thread);
                last != NONE && self.trees.depth(last) >= *index
            };
            let mut accesses = self.nodes[new as usize].accesses.iter();
            accesses.all(|access| latest.conflicts(*access, configuration).iter().all(in_history))
        };
        // Most are in conflict by themselves: a write after other reads than those of the configuration.
        if !agrees(event)
            || disabled.iter().any(|other| self.contains(event, *other))
            || !self.follows(event, configuration)
        {
            return None;
        }
        let mut new = vec![event];
        for (thread, &last) in self.nodes[event as usize].causes.iter().enumerate() {
            let mut current = last;
            while current != NONE && self.trees.depth(current) >= configuration.count(thread) {
                new.push(current);
                current = self.trees.parent(current);
            }
        }
        new[1..].iter().all(|new| agrees(*new)).then_some(new)
    }

    /// Whether an event is in immediate conflict with one of the configuration or of `disabled`.
    pub fn is_in_conflict(&self, event: Number, configuration: &Configuration, disabled: &[Number]) -> bool {
        let node = &self.nodes[event as usize];
        let (own, depth) = (node.thread.index(), self.trees.depth(event));
        let beside = depth < configuration.count(own)
            && self.trees.parent(configuration.chains[own][depth as usize]) == self.trees.parent(event);
        beside
            || disabled.iter().any(|other| *other != event && self.immediate_conflict(*other, event))
            || node.accesses.iter().any(|access| {
                configuration.execution.last_conflicts(*access, configuration.length).any(|id| {
                    let other = configuration.execution.event(id);
                    !self.contains(event, configuration.chains[other.thread.index()][other.index as usize])
                })
            })
    }

    /// Whether two events are in conflict, given the parts of their histories beyond a configuration that neither is in
    /// conflict with.
    pub fn conflict_beyond(&self, first: &[Number], second: &[Number]) -> bool {
        first.iter().filter(|event| !second.contains(event)).any(|event| {
            second.iter().filter(|other| !first.contains(other)).any(|other| self.depends(*event, *other))
        })
    }

    /// Keep the events for which `keep` says so, and what is in their histories. Returns the new number of each event,
    /// NONE for those that are gone.
    pub fn retain(&mut self, mut keep: Vec<bool>) -> Vec<Number> {
        for number in (0..self.nodes.len()).rev() {
            if keep[number] {
                for cause in &self.nodes[number].causes {
                    if *cause != NONE {
                        keep[*cause as usize] = true;
                    }
                }
            }
        }
        let mut numbers = vec![NONE; self.nodes.len()];
        let mut next = 0;
        for (number, kept) in keep.iter().enumerate() {
            if *kept {
                numbers[number] = next;
                next += 1;
            }
        }
        let renamed = |number: &Number| if *number == NONE { NONE } else { numbers[*number as usize] };
        let old = std::mem::take(&mut self.nodes);
        self.names.clear();
        self.siblings.clear();
        self.listed.clear();
        self.trees.retain(&keep);
        for (number, mut node) in old.into_iter().enumerate() {
            if !keep[number] {
                continue;
            }
            node.causes = node.causes.iter().map(renamed).collect();
            let parent = node.causes[node.thread.index()];
            let new = self.nodes.len() as Number;
            self.names.insert((node.thread, node.outcome, node.causes.clone()), new);
            self.siblings.entry((node.thread, parent)).or_default().push(new);
            let listed = std::mem::take(&mut node.listed);
            self.nodes.push(node);
            if listed {
                self.list(new);
            }
        }
        numbers
    }
}
