//! `Visit` of TruSt: what else can be done where an event is added. Forward options are other places for the event
//! itself; backward revisits (`revisit.rs`) let an earlier event observe it.
//!
//! Kokologiannakis, Marmanis, Gladstein and Vafeiadis, "Truly Stateless, Optimal Dynamic Partial Order Reduction"
//! (POPL'22), Algorithm 1, here for graphs that are kept as linearisations.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::consistency::Consistency;
use super::options::Place;
use super::plan::{Entry, Name, Plan, Refreshed};
use super::relaxed::{entry_of, is_relaxed, Coherence};
use super::trace::{
    before, counts, for_observed, is_conditional, writes, Added, Deferred, NonMaximal, Part, Stamp, Trace,
};
use crate::execution::{join, Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{Access, AccessMode, EventId, OperationKind};

/// The causal prefix of an event and all that happens before it, as clocks.
#[derive(Clone, Default)]
pub struct Prefix {
    /// `porf` of the paper.
    pub causes: Vec<u32>,
    pub past: Vec<u32>,
}

pub struct Visit<'a> {
    pub execution: &'a Execution,
    pub memory: &'a dyn MemoryModel,
    pub trace: &'a Trace,
    /// The number of the next event that is added.
    pub next: u32,
    /// What was added with this number or later is not in the graph yet, wherever it is in the execution.
    pub until: u32,
    /// Operations that wait at the end, whose earlier places have been planned.
    pub waiting: Vec<Deferred>,
    /// The predicate of a memory model in which reads-from is chosen.
    pub consistency: Option<&'a dyn Consistency>,
    pub plans: &'a mut Vec<Plan>,
}

impl Visit<'_> {
    /// An event whose parts from `locked` on are new in the graph that the first `length` events of the execution are.
    /// `later` are the events whose parts are added after it.
    pub fn added(&mut self, event: &Event, length: usize, locked: Part, later: &[Refreshed]) {
        if event.operation.kind == OperationKind::Choose {
            self.draw_others(event, length);
            return;
        }
        if event.operation.kind == OperationKind::Branch {
            self.negate(event, length);
            return;
        }
        if is_relaxed(event) {
            self.relaxed_added(event, length, locked, later);
            return;
        }
        let writes_something = event.accesses.iter().any(|access| writes(access.mode));
        let conditional = is_conditional(event.operation.kind);
        if event.accesses.is_empty() || (!writes_something && !conditional && locked == Part::LAST) {
            return;
        }
        let limit = EventId(length as u32);
        let prefix = self.prefix(event, locked);
        if self.is_simple(event) {
            if locked == Part::FIRST && (!writes_something || conditional) {
                self.place_read(event, limit, &prefix);
            }
            if writes_something || conditional {
                self.revisit_chain(event, limit, locked, &prefix);
            }
            return;
        }
        for place in self.places(event, limit, locked, &prefix.past) {
            self.place(event, length, &place, later);
            if place.accesses.iter().any(|access| writes(access.mode)) {
                self.revisit_from(event, limit, &prefix, &place);
            }
        }
    }

    /// The other alternatives of a drawn value.
    fn draw_others(&mut self, event: &Event, length: usize) {
        for outcome in (event.outcome + 1..event.alternatives).rev() {
            let mut plan = self.plan(event.id.index());
            plan.entries.push(Entry { outcome, ..self.entry(event.id) });
            let stamp = Stamp { number: self.trace.added[event.id.index()].first(), part: Part::LAST };
            plan.non_maximal.push(NonMaximal { thread: event.thread, index: event.index, stamp });
            debug_assert_eq!(event.id.index() + 1, length);
            self.push_as_kept(plan);
        }
    }

    /// What comes before the event because of its thread and of the parts that it has already observed.
    fn prefix(&self, event: &Event, locked: Part) -> Prefix {
        let mut prefix = Prefix::default();
        for predecessor in event.predecessors() {
            join(&mut prefix.causes, self.trace.causes.row(predecessor));
            join(&mut prefix.past, self.execution.clocks().row(predecessor));
        }
        if locked > Part::FIRST {
            let added = &self.trace.added[event.id.index()];
            for (position, access) in event.accesses.iter().enumerate() {
                for_observed(self.execution, access, event.id, |id| {
                    let writer = self.execution.event(id);
                    let part = Part::observing(position, writer, self.mode_at(writer, access));
                    if part < locked && added.is_fixed(part) {
                        join(&mut prefix.causes, self.trace.causes.row(id));
                        join(&mut prefix.past, self.execution.clocks().row(id));
                    }
                });
            }
        }
        prefix
    }

    fn mode_at(&self, writer: &Event, access: &Access) -> AccessMode {
        let found = writer.accesses.iter().find(|other| other.location == access.location && writes(other.mode));
        found.map_or(AccessMode::Write, |other| other.mode)
    }

    /// Whether the event accesses one location as one piece, so that what it observes there says all.
    fn is_simple(&self, event: &Event) -> bool {
        use OperationKind::*;
        if matches!(event.operation.kind, CellStore | CellDelete | CellDefault | CellAppend | WaitUntil) {
            return false;
        }
        let mut effective = self.effective(&event.accesses);
        let Some((_, access)) = effective.next() else { return true };
        effective.next().is_none()
            && matches!(access.mode, AccessMode::Read | AccessMode::Write)
            && self.execution.accessing(access.location, AccessMode::IntentWrite).is_empty()
    }

    /// The writes that a load of one location can observe other than the last.
    fn place_read(&mut self, event: &Event, limit: EventId, prefix: &Prefix) {
        let Some(access) = self.effective(&event.accesses).next().map(|(_, access)| *access) else { return };
        let execution = self.execution;
        let list = before(execution.accessing(access.location, AccessMode::Write), limit);
        let mut after: SmallVec<[EventId; 4]> = SmallVec::new();
        for (position, &id) in list.iter().enumerate().rev() {
            let writer = execution.event(id);
            if counts(&prefix.past, writer) {
                break;
            }
            after.push(id);
            let earlier = self.witness(access.location, id, limit).unwrap_or(writer);
            let accesses = self.memory.accesses_in_state_of(event, earlier);
            if accesses.iter().any(|access| writes(access.mode)) || !self.memory.enabled_before(event, earlier) {
                continue;
            }
            let observed = position.checked_sub(1).map(|before| list[before]);
            if self.below_floor(event, observed.into_iter()) {
                continue;
            }
            self.plan_place(event, limit.index(), &after, &[]);
        }
    }

    /// Whether an operation that was deferred would observe nothing new.
    pub fn below_floor(&self, event: &Event, mut observed: impl Iterator<Item = EventId>) -> bool {
        match self.trace.deferral(event) {
            None => false,
            Some(deferred) => !observed.any(|id| self.trace.added[id.index()].first() >= deferred.floor),
        }
    }

    /// Add the event at a place other than the maximal one, if nothing observes it there.
    fn place(&mut self, event: &Event, length: usize, place: &Place, later: &[Refreshed]) {
        // Where all that comes after it has to, it is added maximally.
        if place.after.iter().all(|id| *id > event.id) || !place.enabled {
            return;
        }
        if place.accesses.iter().any(|access| writes(access.mode)) {
            let comes_after = |id: EventId| place.after.iter().any(|first| self.execution.happens_before(*first, id));
            let observes = |id: EventId| {
                let other = self.execution.event(id);
                self.part_observing(&other.accesses, event, &place.accesses).is_some() && comes_after(id)
            };
            if (0..length as u32).map(EventId).filter(|id| *id != event.id).any(observes) {
                return;
            }
        }
        let limit = EventId(length as u32);
        if self.below_floor(event, self.observed(event, place, limit).into_iter()) {
            return;
        }
        let after = place.after.clone();
        self.plan_place(event, length, &after, later);
    }

    /// Plan the graph of the first `length` events with the event before those in `after` and what follows from them.
    fn plan_place(&mut self, event: &Event, length: usize, after: &[EventId], later: &[Refreshed]) {
        let execution = self.execution;
        let is_after = |id: EventId| after.iter().any(|first| *first <= id && execution.happens_before(*first, id));
        let end = event.id.index().min(length);
        let mut plan = self.plan(0);
        let ids = || (0..end as u32).map(EventId).filter(|id| self.is_there(*id));
        plan.entries.extend(ids().filter(|id| !is_after(*id)).map(|id| self.entry(id)));
        let number = match self.trace.added.get(event.id.index()) {
            Some(added) => added.last(),
            None => self.next,
        };
        let added = match self.trace.added.get(event.id.index()) {
            Some(added) => added.clone(),
            None => Added::at(number),
        };
        plan.entries.push(entry_of(event, &added, |id| self.name(id)));
        plan.entries.extend(ids().filter(|id| is_after(*id)).map(|id| self.entry(id)));
        let rest = (end + 1..length).map(|index| EventId(index as u32)).filter(|id| self.is_there(*id));
        plan.entries.extend(rest.map(|id| self.entry(id)));
        plan.non_maximal.push(NonMaximal {
            thread: event.thread,
            index: event.index,
            stamp: Stamp { number, part: Part::LAST },
        });
        plan.refreshed = later.to_vec();
        plan.next = self.next + 1;
        self.push_as_kept(plan);
    }

    /// Push a plan whose relaxed events are as they were.
    fn push_as_kept(&mut self, mut plan: Plan) {
        if self.consistency.is_some() {
            let kept: FxHashSet<Name> = plan.entries.iter().map(|entry| (entry.thread, entry.index)).collect();
            plan.coherence = self.coherence_of(|id| {
                let event = self.execution.event(id);
                kept.contains(&(event.thread, event.index))
            });
        }
        self.push(plan);
    }

    pub fn entry(&self, id: EventId) -> Entry {
        entry_of(self.execution.event(id), &self.trace.added[id.index()], |id| self.name(id))
    }

    pub fn name(&self, id: EventId) -> Name {
        let event = self.execution.event(id);
        (event.thread, event.index)
    }

    /// Whether an event of the execution is in the graph.
    pub fn is_there(&self, id: EventId) -> bool {
        self.trace.added[id.index()].first() < self.until
    }

    /// A plan that begins with the first events of the execution, as far as they are in the graph.
    pub fn plan(&self, length: usize) -> Plan {
        let ids = (0..length as u32).map(EventId);
        Plan {
            entries: ids.filter(|id| self.is_there(*id)).map(|id| self.entry(id)).collect(),
            revisited: None,
            refreshed: Vec::new(),
            coherence: Coherence::default(),
            non_maximal: self.trace.non_maximal.clone(),
            deferred: self.trace.deferred.iter().chain(&self.waiting).copied().collect(),
            next: self.next + 1,
        }
    }
}
