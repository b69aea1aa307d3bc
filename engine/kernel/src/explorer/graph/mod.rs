//! TruSt: Kokologiannakis, Marmanis, Gladstein and Vafeiadis, "Truly Stateless, Optimal Dynamic Partial Order
//! Reduction" (POPL'22), Algorithm 1; also the base of ConDPOR (Khoshechin Jorshari, Kokologiannakis, Majumdar and
//! Nagendra, CONCUR'25, section 4).
//!
//! Execution graphs are visited one after another: an event is added, its forward options are other writes that it can
//! read from, and its backward revisits let an earlier event read from it, if all that has to be deleted for that was
//! added maximally. So every consistent graph is visited once, and only graphs that still have to be visited are kept.
//!
//! The recursion of the paper is a stack of planned graphs. Each is re-run from the start in one of its linearisations;
//! from there on events are added maximally, in the order of the execution, and at its end the options and revisits
//! of all of them are planned, the last one to be visited first.

mod consistency;
mod constraints;
mod fairness;
mod options;
mod plan;
mod relaxed;
mod revisit;
mod trace;
mod visit;

use consistency::{Consistency, ReadsFrom};
use plan::{Entry, Name, Plan, Refreshed};
use relaxed::{entry_of, is_relaxed, wrote};
use trace::{Added, Deferred, Part, Trace};
use visit::Visit;

use super::replay::{Divergence, DivergenceReason};
use super::{
    depth_first_fraction, Decision, End, Explorer, Fairness, Findings, Finished, Planning, Requirements, State,
};
use crate::execution::{Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{AccessMode, Choice, EventId, Operation, OperationKind, ThreadId};

/// The graphs planned at the end of one execution.
struct Frame {
    plans: Vec<Plan>,
    planned: usize,
}

#[derive(Default)]
pub struct Graph {
    frames: Vec<Frame>,
    /// What the current execution re-runs first.
    plan: Plan,
    /// The next of its entries.
    position: usize,
    /// The events of the current execution that were planned.
    planned: usize,
    /// When the event that is chosen is added to the graph.
    added: Option<Added>,
    /// The constraint events that were decided before all planned events had been performed.
    early: Vec<EventId>,
    /// Whether the event that was chosen last is one of them.
    is_early: bool,
    trace: Trace,
    /// The predicate of a relaxed memory model; None under sequential consistency, where every order of events is
    /// allowed.
    consistency: Option<Box<dyn Consistency>>,
    /// Whether an operation wrote (or did not) against what was expected, so that the graph may not be consistent.
    surprised: bool,
    /// The choices of the last execution.
    last: Vec<Entry>,
    /// The first planned event that its thread did not come to.
    divergence: Option<Divergence>,
}

impl Graph {
    /// The algorithm for a memory model; None if there is no predicate for it.
    pub fn under(memory_model: &str) -> Option<Graph> {
        Some(Graph { consistency: Some(consistency::named(memory_model)?), ..Graph::default() })
    }

    /// The same without coherence: graphs that differ in what is read from what.
    pub fn by_reads_from(memory_model: &str) -> Option<Graph> {
        let consistency: Box<dyn Consistency> = Box::new(ReadsFrom(consistency::named(memory_model)?));
        Some(Graph { consistency: Some(consistency), ..Graph::default() })
    }

    /// What a load that is added to the graph reads from: the last write in coherence order, or in that of names.
    fn latest_write(&self, state: &State, thread: ThreadId, operation: &Operation) -> EventId {
        if let Some(consistency) = self.consistency.as_deref().filter(|consistency| !consistency.orders_writes()) {
            let events: Vec<&Event> = state.execution.events().iter().collect();
            let name = |id: EventId| (state.execution.event(id).thread, state.execution.event(id).index);
            let load = Event::of_load(thread, state.threads.get(thread).events, *operation);
            let source = relaxed::latest_allowed(&events, &load, name, consistency).flatten();
            return source.and_then(|name| self.trace.find(name.0.index(), name.1)).unwrap_or(EventId::NONE);
        }
        let location = operation.target;
        self.trace.coherence.get(&location).and_then(|order| order.last()).copied().unwrap_or(EventId::NONE)
    }

    /// Put the write that was just performed into the coherence order of its location.
    fn order_write(&mut self, event: &Event) {
        let location = event.operation.target;
        let name = (event.thread, event.index);
        let planned = self.plan.coherence.get(&location).map_or(&[][..], Vec::as_slice);
        let rank = planned.iter().position(|other| *other == name);
        let is_planned = self.trace.added.len() < self.plan.entries.len();
        if !wrote(event) {
            self.surprised |= rank.is_some();
            return;
        }
        let trace = &self.trace;
        let ranks = |id: &EventId| planned.iter().position(|other| trace.find(other.0.index(), other.1) == Some(*id));
        let order = self.trace.coherence.get(&location).map_or(&[][..], Vec::as_slice);
        let place = match (rank, event.reads) {
            (Some(rank), _) => order.iter().position(|id| ranks(id) > Some(rank)).unwrap_or(order.len()),
            (None, Some(source)) if is_planned => {
                self.surprised = true;
                order.iter().position(|id| *id == source).map_or(0, |place| place + 1)
            }
            (None, _) => order.len(),
        };
        self.trace.coherence.entry(location).or_default().insert(place, event.id);
    }

    /// Whether the memory model allows the graph of the execution so far.
    fn is_consistent(&self, execution: &Execution) -> bool {
        let Some(consistency) = &self.consistency else { return true };
        let events: Vec<&Event> = execution.events().iter().collect();
        let name = |id: EventId| (execution.event(id).thread, execution.event(id).index);
        let reads: Vec<Option<Option<Name>>> = events
            .iter()
            .map(|event| event.reads.map(|write| (write != EventId::NONE).then(|| name(write))))
            .collect();
        let coherence = self
            .trace
            .coherence
            .iter()
            .map(|(location, order)| (*location, order.iter().map(|id| name(*id)).collect()));
        consistency.allows(&relaxed::graph(&events, &reads, &coherence.collect()))
    }

    /// A thread has come to a constraint event while planned events are still to come: take it from among them, or add
    /// it.
    fn decide(&mut self, state: &State, thread: ThreadId) -> Decision {
        let index = state.threads.get(thread).events;
        let rest = &mut self.plan.entries[self.position..];
        match rest.iter().position(|entry| (entry.thread, entry.index) == (thread, index)) {
            Some(place) => {
                rest[..=place].rotate_right(1);
                self.plan.displace(self.position, self.position + place);
            }
            None => {
                let conditions = state.execution.conditions();
                let Some(condition) = state.pending(thread).map(|pending| pending.detail) else {
                    return Decision::GiveUp;
                };
                let planned = rest.iter().filter_map(Entry::literal);
                let path = planned.fold(state.execution.path(), |path, literal| conditions.extend(path, literal));
                let outcome = u32::from(conditions.sides(path, condition).when_true);
                let added = Added::at(self.plan.next);
                let condition = Some(condition);
                self.plan.next += 1;
                self.plan
                    .entries
                    .insert(self.position, Entry { thread, index, outcome, condition, added, reads: None });
                self.plan.displace(self.position, usize::MAX);
                self.early.push(EventId(state.execution.len() as u32));
                self.is_early = true;
            }
        }
        let entry = &self.plan.entries[self.position];
        self.position += 1;
        self.planned += 1;
        self.added = Some(entry.added.clone());
        Decision::Take(state.choice(thread, entry.outcome))
    }

    /// The operation that was revisited is blocked now.
    fn defer(&mut self, entry: &Entry, by: usize) {
        let by = &self.plan.entries[by];
        self.trace.deferred.push(Deferred {
            thread: entry.thread,
            index: entry.index,
            stamp: entry.added.first(),
            floor: by.added.last(),
            by: (by.thread, by.index),
        });
        let stays = |one: &Refreshed| (one.thread, one.index) != (entry.thread, entry.index);
        self.plan.refreshed.retain(stays);
    }

    /// Plan what else there is, in the order of `<_G`.
    fn plan_others(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut visit = Visit {
            execution,
            memory,
            trace: &self.trace,
            next: self.plan.next,
            until: self.early.first().map_or(u32::MAX, |id| self.trace.added[id.index()].first()),
            waiting: Vec::new(),
            consistency: self.consistency.as_deref(),
            plans: &mut plans,
        };
        for (position, refreshed) in self.plan.refreshed.iter().enumerate() {
            // An execution that is given up need not come to it.
            let Some(id) = self.trace.find(refreshed.thread.index(), refreshed.index) else { continue };
            let later = &self.plan.refreshed[position + 1..];
            visit.added(execution.event(id), self.planned, refreshed.from, later);
        }
        for id in &self.early {
            visit.until = self.trace.added[id.index()].first();
            visit.negate(execution.event(*id), self.planned);
        }
        visit.until = u32::MAX;
        for event in &execution.events()[self.planned..] {
            visit.added(event, event.id.index() + 1, Part::FIRST, &[]);
        }
        if end == End::Maximal {
            for event in execution.blocked() {
                visit.added(event, execution.len(), Part::FIRST, &[]);
                if event.accesses.iter().any(|access| access.mode == AccessMode::Read) {
                    let next = visit.next;
                    visit.waiting.push(Deferred {
                        thread: event.thread,
                        index: event.index,
                        stamp: next,
                        floor: next,
                        by: (event.thread, event.index),
                    });
                    visit.next += 1;
                }
            }
        }
        plans
    }
}

impl Explorer for Graph {
    /// Where a predicate would have held instead, and what it would have read there, no number tells.
    fn requirements(&self) -> Requirements {
        let untreated = &[OperationKind::WaitUntil];
        Requirements { repeats_accesses: true, waits_by_spinning: true, untreated, ..Requirements::NONE }
    }

    fn findings(&self) -> Findings<'_> {
        Findings { divergence: self.divergence.as_ref(), ..Findings::default() }
    }

    fn fairness(&self) -> Option<&dyn Fairness> {
        Some(self)
    }

    fn planning(&self) -> Option<&dyn Planning> {
        Some(self)
    }

    fn begin(&mut self) -> usize {
        let shared = self
            .plan
            .entries
            .iter()
            .zip(&self.last)
            .take_while(|(new, old)| (new.thread, new.outcome, new.reads) == (old.thread, old.outcome, old.reads))
            .count();
        self.trace.truncate(shared);
        self.surprised = false;
        self.early.clear();
        self.is_early = false;
        self.trace.coherence.clear();
        for (location, names) in &self.plan.coherence {
            let there = names.iter().filter_map(|name| self.trace.find(name.0.index(), name.1)).collect();
            self.trace.coherence.insert(*location, there);
        }
        for (added, entry) in self.trace.added.iter_mut().zip(&self.plan.entries) {
            added.clone_from(&entry.added);
        }
        self.trace.non_maximal.clone_from(&self.plan.non_maximal);
        self.trace.deferred.clone_from(&self.plan.deferred);
        self.position = shared;
        self.planned = shared;
        shared
    }

    fn choose(&mut self, state: &State) -> Decision {
        self.is_early = false;
        if let Some(thread) = state.branching().filter(|_| self.position < self.plan.entries.len()) {
            return self.decide(state, thread);
        }
        while let Some(entry) = self.plan.entries.get(self.position) {
            let position = self.position;
            self.position += 1;
            if state.is_enabled(entry.thread) {
                self.planned += 1;
                self.added = Some(entry.added.clone());
                return Decision::Take(match entry.reads {
                    Some(source) => {
                        let write = source.and_then(|name| self.trace.find(name.0.index(), name.1));
                        Choice::ReadFrom { thread: entry.thread, write: write.unwrap_or(EventId::NONE) }
                    }
                    None => state.choice(entry.thread, entry.outcome),
                });
            }
            match self.plan.revisited {
                Some((revisited, by)) if revisited == position => {
                    let entry = entry.clone();
                    self.defer(&entry, by);
                }
                _ => {
                    // Without a revisit, the planned events are those of the last execution, in their order.
                    let repeats = self.plan.revisited.is_none() || state.pending(entry.thread).is_none();
                    if !self.surprised && repeats {
                        let (thread, reason) = (entry.thread, DivergenceReason::CannotRun);
                        self.divergence.get_or_insert(Divergence { step: position, thread, reason });
                    }
                    return Decision::GiveUp;
                }
            }
        }
        if self.surprised && !self.is_consistent(state.execution) {
            return Decision::GiveUp;
        }
        self.surprised = false;
        let Some(thread) = state.preferred(|_| true) else { return Decision::GiveUp };
        Decision::Take(match state.pending(thread) {
            Some(next) if state.memory.is_relaxed(next) && next.kind != OperationKind::Store => {
                Choice::ReadFrom { thread, write: self.latest_write(state, thread, next) }
            }
            _ => state.choice(thread, state.outcomes(thread)[0]),
        })
    }

    fn performed(&mut self, execution: &Execution) {
        let added = self.added.take().unwrap_or_else(|| {
            self.plan.next += 1;
            Added::at(self.plan.next - 1)
        });
        if let Some(event) = execution.events().last().filter(|event| is_relaxed(event)) {
            self.order_write(event);
        }
        self.trace.append(execution, added);
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished {
        let name = |id: EventId| (execution.event(id).thread, execution.event(id).index);
        self.last.clear();
        let events = execution.events().iter().zip(&self.trace.added);
        self.last.extend(events.map(|(event, added)| entry_of(event, added, name)));
        if let (End::Maximal, Some((revisited, by))) = (end, self.plan.revisited) {
            // With every thread blocked nobody was asked to choose any more.
            if revisited + 1 == self.plan.entries.len() && self.position == revisited {
                let entry = self.plan.entries[revisited].clone();
                self.position += 1;
                self.defer(&entry, by);
            }
        }
        if let (End::Maximal, false, Some(entry)) = (end, self.surprised, self.plan.entries.get(self.position)) {
            // No thread can do what it did in the graph that was planned from.
            let (thread, reason) = (entry.thread, DivergenceReason::CannotRun);
            self.divergence.get_or_insert(Divergence { step: self.position, thread, reason });
        }
        // An execution that the host has given up among the planned events is the last, and so is one that left them.
        let unfinished = self.position < self.plan.entries.len() || execution.len() < self.planned;
        let given_up = end == End::Cut && unfinished || self.divergence.is_some();
        let plans = if given_up { Vec::new() } else { self.plan_others(execution, memory, end) };
        self.frames.push(Frame { planned: plans.len(), plans });
        while let Some(frame) = self.frames.last_mut() {
            if let Some(plan) = frame.plans.pop() {
                self.plan = plan;
                // An event that was possible and is not any more: no graph that was planned means what it says.
                return Finished { more: self.divergence.is_none(), duplicate: false };
            }
            self.frames.pop();
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.frames.iter().map(|frame| (frame.planned - frame.plans.len(), frame.planned + 1)))
    }
}

impl Fairness for Graph {
    fn reads_for_ever(&self, execution: &Execution, loads: &[EventId], silent: &[EventId]) -> bool {
        self.can_be_last(execution, loads, silent)
    }
}

impl Planning for Graph {
    fn is_early(&self) -> bool {
        self.is_early
    }

    fn planned(&self) -> usize {
        self.planned
    }
}
