//! The part of the algorithm for memory models that no sequence of steps stands for: loads that read from a write of
//! their choice, and stores that take any place in coherence order. What an operation on an object observes is still
//! read off the order of the events; what these observe is kept beside it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::consistency::{Consistency, Kind, Node};
use super::plan::{Entry, Name, Plan, Refreshed};
use super::trace::{counts, Added, Part, Stamp};
use super::visit::{Prefix, Visit};
use crate::execution::{join, Event};
use crate::operation::{accesses_conflict, EventId, LocationId, OperationKind, ThreadId, ANY_VALUE, NO_VALUE};

/// The coherence order of each location.
pub type Coherence<T> = FxHashMap<LocationId, Vec<T>>;

/// Whether the event is ordered by reads-from and coherence alone.
pub fn is_relaxed(event: &Event) -> bool {
    use OperationKind::*;
    event.accesses.is_empty()
        && event.operation.target != LocationId::NONE
        && match event.operation.kind {
            Load | Store => event.operation.detail == 0,
            ReadModifyWrite | CompareExchange => true,
            _ => false,
        }
}

pub fn reads(event: &Event) -> bool {
    event.operation.kind != OperationKind::Store
}

/// Whether the operation writes if it finds a value with this token; a token that is not known is taken for another
/// value.
fn writes_finding(event: &Event, found: Option<u32>) -> bool {
    match event.operation.kind {
        OperationKind::Store | OperationKind::ReadModifyWrite => true,
        OperationKind::CompareExchange => found.is_some_and(|token| is_expected(token, event.operation.detail)),
        _ => false,
    }
}

/// Whether a compare-exchange that expects a value counts as a write where it finds one with this token. Where it finds
/// a symbolic value it does, and leaves what was there if a branch decides that the two are not equal.
fn is_expected(found: u32, expected: u32) -> bool {
    found == ANY_VALUE || (found != NO_VALUE && found == expected)
}

/// Whether the event, as it was performed, wrote. A compare-exchange that did has found the token that it expected.
pub fn wrote(event: &Event) -> bool {
    match event.operation.kind {
        OperationKind::CompareExchange => event.before == event.operation.detail || event.before == ANY_VALUE,
        _ => writes_finding(event, None),
    }
}

fn name(event: &Event) -> Name {
    (event.thread, event.index)
}

/// A revisit by a relaxed write.
pub struct RelaxedRevisit {
    /// What it reads from itself: a write, or the initial value. None for a store, which takes any place in coherence
    /// order, where a read-modify-write comes directly after what it reads from.
    pub source: Option<Option<EventId>>,
}

impl Visit<'_> {
    /// `added` for a relaxed event.
    pub fn relaxed_added(&mut self, event: &Event, length: usize, locked: Part, later: &[Refreshed]) {
        let limit = EventId(length as u32);
        let location = event.operation.target;
        let mut base = Prefix::default();
        let fixed = [event.program_order, event.joined].into_iter().filter(|id| *id != EventId::NONE);
        for predecessor in fixed {
            join(&mut base.causes, self.trace.causes.row(predecessor));
            join(&mut base.past, self.execution.clocks().row(predecessor));
        }
        if !reads(event) {
            if self.orders_writes() {
                self.place_store(event, length, location);
            }
            self.revisits_of(event, limit, &base, None);
            return;
        }
        let current = event.reads.filter(|write| *write != EventId::NONE);
        let mut sources: Vec<Option<EventId>> = vec![current];
        if locked == Part::FIRST {
            let writes = self.trace.coherence.get(&location).into_iter().flatten().copied();
            let others = writes.filter(|id| *id < limit && *id != event.id).map(Some).chain([None]);
            let last = self.last_before(event, location);
            let is_hidden = |source: Option<EventId>| last.iter().any(|write| self.precedes(source, *write));
            sources.extend(others.filter(|source| *source != current && !is_hidden(*source)));
        }
        for source in sources {
            let writes =
                if source == current { wrote(event) } else { writes_finding(event, self.token(location, source)) };
            if source != current {
                self.place_relaxed_read(event, length, source, writes, later);
            }
            if writes {
                let mut prefix = base.clone();
                if let Some(source) = source {
                    join(&mut prefix.causes, self.trace.causes.row(source));
                    join(&mut prefix.past, self.execution.clocks().row(source));
                }
                self.revisits_of(event, limit, &prefix, Some(source));
            }
        }
    }

    /// Of each thread the last write to the location that comes before the event in every graph with these events. What
    /// comes before such a write in turn, the event cannot read from under any model, since all are coherent.
    fn last_before(&self, event: &Event, location: LocationId) -> SmallVec<[EventId; 4]> {
        let row = self.execution.structural_clocks().row(event.id);
        let mut last: SmallVec<[EventId; 4]> = SmallVec::new();
        for &id in self.trace.coherence.get(&location).into_iter().flatten() {
            let write = self.execution.event(id);
            if id == event.id || !counts(row, write) {
                continue;
            }
            match last.iter_mut().find(|known| self.execution.event(**known).thread == write.thread) {
                Some(known) => *known = (*known).max(id),
                None => last.push(id),
            }
        }
        last
    }

    /// Whether a write (or the initial value) comes before another in every graph with these events.
    fn precedes(&self, source: Option<EventId>, write: EventId) -> bool {
        source.is_none_or(|source| {
            source != write && counts(self.execution.structural_clocks().row(write), self.execution.event(source))
        })
    }

    /// The token of what a write left behind, or of the initial value.
    fn token(&self, location: LocationId, source: Option<EventId>) -> Option<u32> {
        match source {
            Some(source) => self.execution.event(source).values.left,
            None => {
                // The first to come to the location found it as it was.
                let events = self.execution.events().iter();
                let mut there = events.filter(|event| is_relaxed(event) && event.operation.target == location);
                there.next().map(|event| event.before)
            }
        }
    }

    /// The other places of a store in coherence order.
    fn place_store(&mut self, event: &Event, length: usize, location: LocationId) {
        let limit = EventId(length as u32);
        let order: Vec<EventId> = self.coherent_before(location, limit).filter(|id| *id != event.id).collect();
        for place in 0..order.len() {
            let mut plan = self.relaxed_plan(length);
            let coherence = plan.coherence.entry(location).or_default();
            coherence.retain(|other| *other != name(event));
            coherence.insert(place, name(event));
            self.push(plan);
        }
    }

    /// The graph in which a load (or what turns out to be one) reads from another write.
    fn place_relaxed_read(
        &mut self,
        event: &Event,
        length: usize,
        source: Option<EventId>,
        writes: bool,
        later: &[Refreshed],
    ) {
        let mut plan = self.relaxed_plan(length);
        let location = event.operation.target;
        let coherence = plan.coherence.entry(location).or_default();
        coherence.retain(|other| *other != name(event));
        if writes {
            let source = source.map(|source| name(self.execution.event(source)));
            let place =
                source.map_or(0, |source| 1 + coherence.iter().position(|other| *other == source).unwrap_or(0));
            coherence.insert(place, name(event));
        }
        let source = source.map(|source| name(self.execution.event(source)));
        for entry in plan.entries.iter_mut().filter(|entry| (entry.thread, entry.index) == name(event)) {
            entry.reads = Some(source);
        }
        plan.refreshed = later.to_vec();
        self.push(plan);
    }

    /// The plan that re-runs the first events as they are.
    fn relaxed_plan(&self, length: usize) -> Plan {
        let mut plan = self.plan(length);
        plan.coherence = self.coherence_of(|id| id.index() < length);
        plan
    }

    fn coherent_before(&self, location: LocationId, limit: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.trace.coherence.get(&location).into_iter().flatten().copied().filter(move |id| *id < limit)
    }

    /// The coherence orders of the events that are kept.
    pub fn coherence_of(&self, kept: impl Fn(EventId) -> bool) -> Coherence<Name> {
        let order = |ids: &Vec<EventId>| -> Vec<Name> {
            ids.iter().filter(|id| kept(**id)).map(|id| name(self.execution.event(*id))).collect()
        };
        self.trace.coherence.iter().map(|(location, ids)| (*location, order(ids))).collect()
    }

    /// Let each load of the location read from the event.
    fn revisits_of(&mut self, event: &Event, limit: EventId, prefix: &Prefix, source: Option<Option<EventId>>) {
        let execution = self.execution;
        for id in (0..limit.0).rev().map(EventId) {
            let revisited = execution.event(id);
            let candidate = id != event.id
                && is_relaxed(revisited)
                && reads(revisited)
                && revisited.operation.target == event.operation.target
                && !counts(&prefix.causes, revisited);
            if candidate {
                let relaxed = RelaxedRevisit { source };
                self.revisit(event, limit, prefix, revisited, Part::whole(0), &[], &[], Some(&relaxed));
            }
        }
    }

    fn orders_writes(&self) -> bool {
        self.consistency.is_none_or(Consistency::orders_writes)
    }

    /// The same where writes have no order: each load reads from the write that it would read from if it were added to
    /// what was there, and nothing that was there reads from a write.
    fn reads_deletable(
        &self,
        event: &Event,
        limit: EventId,
        prefix: &Prefix,
        revisited: &Event,
        stamp: Stamp,
    ) -> bool {
        let execution = self.execution;
        let Some(consistency) = self.consistency else { return true };
        let caused = |id: EventId| counts(&prefix.causes, execution.event(id));
        let ids = || (0..limit.0).map(EventId).filter(|id| *id != event.id);
        for id in ids().filter(|id| !caused(*id)) {
            let other = execution.event(id);
            let added = &self.trace.added[id.index()];
            if !is_relaxed(other) || added.last() < stamp.number {
                continue;
            }
            let there = |earlier: EventId, number: u32| {
                earlier != id && (caused(earlier) || self.trace.added[earlier.index()].first() < number)
            };
            if wrote(other)
                && ids().any(|reader| execution.event(reader).reads == Some(id) && there(reader, added.last()))
            {
                return false;
            }
            if reads(other) && (id == revisited.id || added.first() >= stamp.number) {
                let previous: Vec<&Event> =
                    ids().filter(|earlier| there(*earlier, added.first())).map(|id| execution.event(id)).collect();
                let source = other.reads.filter(|write| *write != EventId::NONE).map(|write| self.name(write));
                if latest_allowed(&previous, other, |id| self.name(id), consistency) != Some(source) {
                    return false;
                }
            }
        }
        true
    }

    /// `IsMaximallyAdded` for the relaxed events that a revisit deletes: each reads from, or is, the last write in
    /// coherence order of what was there when it was added and of what is in the causal prefix of the revisiting event,
    /// and nothing that was there reads from it.
    pub fn relaxed_deletable(
        &self,
        event: &Event,
        limit: EventId,
        prefix: &Prefix,
        revisited: &Event,
        stamp: Stamp,
    ) -> bool {
        if !self.orders_writes() {
            return self.reads_deletable(event, limit, prefix, revisited, stamp);
        }
        let execution = self.execution;
        let caused = |id: EventId| counts(&prefix.causes, execution.event(id));
        (0..limit.0).map(EventId).filter(|id| *id != event.id && !caused(*id)).all(|id| {
            let other = execution.event(id);
            let added = &self.trace.added[id.index()];
            if !is_relaxed(other) || added.last() < stamp.number {
                return true;
            }
            let order = self.trace.coherence.get(&other.operation.target).map_or(&[][..], Vec::as_slice);
            // What was there when its read (or its write) was added.
            let previous = |earlier: EventId, number: u32| {
                earlier != event.id && (caused(earlier) || self.trace.added[earlier.index()].last() < number)
            };
            let latest_but = |write: Option<EventId>, number: u32| {
                let after = write.map_or(0, |write| order.iter().position(|id| *id == write).map_or(0, |at| at + 1));
                order[after..].iter().all(|later| *later == id || !previous(*later, number))
            };
            let read_deleted = id == revisited.id || added.first() >= stamp.number;
            if reads(other) && read_deleted {
                let source = other.reads.filter(|write| *write != EventId::NONE);
                let there = source.is_none_or(|source| previous(source, added.first()));
                if !there || !latest_but(source, added.first()) {
                    return false;
                }
            }
            if wrote(other) {
                let read_early = |reader: &Event| {
                    reader.reads == Some(id)
                        && (caused(reader.id) || self.trace.added[reader.id.index()].first() < added.last())
                };
                if !latest_but(Some(id), added.last()) || execution.events()[..limit.index()].iter().any(read_early) {
                    return false;
                }
            }
            true
        })
    }

    /// Fill in what is read from what and the coherence orders of a revisit, and push it for every place of the event.
    pub fn push_relaxed(
        &mut self,
        mut plan: Plan,
        event: &Event,
        revisited: &Event,
        kept: &dyn Fn(EventId) -> bool,
        relaxed: Option<&RelaxedRevisit>,
    ) {
        plan.coherence = self.coherence_of(kept);
        let Some(relaxed) = relaxed else {
            self.push(plan);
            return;
        };
        let location = event.operation.target;
        let source = relaxed.source.map(|source| source.map(|source| name(self.execution.event(source))));
        for entry in &mut plan.entries {
            if (entry.thread, entry.index) == name(event) {
                entry.reads = source;
            } else if (entry.thread, entry.index) == name(revisited) {
                entry.reads = Some(Some(name(event)));
            }
        }
        let written = match event.operation.kind {
            OperationKind::ReadModifyWrite
                if relaxed.source != Some(event.reads.filter(|id| *id != EventId::NONE)) =>
            {
                None
            }
            _ => event.values.left,
        };
        let follows = writes_finding(revisited, written);
        let order = plan.coherence.entry(location).or_default().clone();
        let places = match source {
            Some(source) => {
                let place = source.map_or(0, |source| 1 + order.iter().position(|one| *one == source).unwrap_or(0));
                place..place + 1
            }
            None if self.orders_writes() => 0..order.len() + 1,
            None => order.len()..order.len() + 1,
        };
        for place in places {
            let mut plan = plan.clone();
            let coherence = plan.coherence.entry(location).or_default();
            coherence.insert(place, name(event));
            if follows {
                coherence.insert(place + 1, name(revisited));
            }
            self.push(plan);
        }
    }

    /// Plan a graph if the memory model allows it.
    pub fn push(&mut self, plan: Plan) {
        let allowed = match self.consistency {
            Some(consistency) => self.is_consistent(&plan, consistency),
            None => true,
        };
        if allowed {
            self.plans.push(plan);
        }
    }

    fn is_consistent(&self, plan: &Plan, consistency: &dyn Consistency) -> bool {
        let events: Vec<&Event> = plan.entries.iter().map(|entry| self.named(entry)).collect();
        // Operations on objects alone are in the order of the plan.
        if !events.iter().any(|event| is_relaxed(event)) {
            return true;
        }
        let reads: Vec<Option<Option<Name>>> = plan.entries.iter().map(|entry| entry.reads).collect();
        consistency.allows(&graph(&events, &reads, &plan.coherence))
    }

    fn named(&self, entry: &Entry) -> &Event {
        let waiting = self.execution.blocked().iter().find(|event| name(event) == (entry.thread, entry.index));
        match self.trace.find(entry.thread.index(), entry.index) {
            Some(id) => self.execution.event(id),
            None => waiting.unwrap_or_else(|| &self.execution.events()[0]),
        }
    }
}

/// What a load reads from when it is added to a graph whose writes have no order: of the writes (and the initial value)
/// that the model allows the last by name, so that it depends on the graph alone.
pub fn latest_allowed(
    events: &[&Event],
    load: &Event,
    name_of: impl Fn(EventId) -> Name,
    consistency: &dyn Consistency,
) -> Option<Option<Name>> {
    let location = load.operation.target;
    let there = |event: &&&Event| is_relaxed(event) && event.operation.target == location;
    let initial = events.iter().find(there).map(|event| event.before);
    let mut sources: Vec<Option<&Event>> =
        events.iter().filter(there).filter(|event| wrote(event)).map(|event| Some(*event)).collect();
    // What no other thread writes is read from the thread's last write, which nothing forbids and which is the last by
    // name.
    let is_own = |write: &Event| write.thread == load.thread && write.index < load.index;
    if sources.iter().flatten().all(|write| is_own(write)) {
        return Some(sources.into_iter().flatten().map(name).max());
    }
    sources.sort_unstable_by_key(|source| std::cmp::Reverse(source.map(name)));
    sources.push(None);
    let mut writes: Coherence<Name> = FxHashMap::default();
    for event in events.iter().filter(|event| is_relaxed(event) && wrote(event)) {
        writes.entry(event.operation.target).or_default().push(name(event));
    }
    let mut all = events.to_vec();
    all.push(load);
    let mut reads: Vec<Option<Option<Name>>> = events
        .iter()
        .map(|event| event.reads.map(|write| (write != EventId::NONE).then(|| name_of(write))))
        .collect();
    reads.push(None);
    for source in sources {
        let found = source.map_or(initial, |source| source.values.left);
        let mut with = writes.clone();
        if writes_finding(load, found) {
            with.entry(location).or_default().push(name(load));
        }
        if let Some(last) = reads.last_mut() {
            *last = Some(source.map(name));
        }
        if consistency.allows(&graph(&all, &reads, &with)) {
            return Some(source.map(name));
        }
    }
    None
}

/// A graph as the memory models see it.
pub fn graph(events: &[&Event], reads: &[Option<Option<Name>>], coherence: &Coherence<Name>) -> Vec<Node> {
    let positions: FxHashMap<Name, usize> =
        events.iter().enumerate().map(|(position, event)| (name(event), position)).collect();
    let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut nodes: Vec<Node> = Vec::with_capacity(events.len());
    for (position, event) in events.iter().enumerate() {
        let location = event.operation.target;
        let relaxed = is_relaxed(event);
        let place = coherence
            .get(&location)
            .filter(|_| relaxed)
            .and_then(|order| order.iter().position(|one| *one == name(event)));
        let source = reads[position].flatten().and_then(|source| positions.get(&source).copied());
        let kind = match (relaxed, place, event.operation.kind) {
            (true, Some(_), OperationKind::Store) => Kind::Write,
            (true, Some(_), _) => Kind::Update,
            (true, None, _) => Kind::Read,
            (false, _, OperationKind::Fence) => Kind::Fence,
            (false, _, OperationKind::Choose | OperationKind::Branch | OperationKind::Blocked) => Kind::Local,
            _ => Kind::Other,
        };
        let mut predecessors: SmallVec<[usize; 3]> = SmallVec::new();
        predecessors.extend(last.get(&event.thread).copied());
        match event.operation.kind {
            OperationKind::Start => {
                let spawns = |other: &Event| {
                    other.operation.kind == OperationKind::Spawn && other.operation.detail == event.thread.0
                };
                predecessors.extend(events[..position].iter().position(|other| spawns(other)));
            }
            OperationKind::Join => predecessors.extend(last.get(&ThreadId(event.operation.detail)).copied()),
            _ => {}
        }
        if !event.accesses.is_empty() {
            let conflicts = |other: &&Event| accesses_conflict(&other.accesses, &event.accesses);
            predecessors.extend((0..position).filter(|earlier| conflicts(&events[*earlier])));
        }
        last.insert(event.thread, position);
        let place = match place {
            Some(place) => place as u32 + 1,
            None => source.map_or(0, |source| nodes[source].place),
        };
        nodes.push(Node {
            thread: event.thread,
            kind,
            location: if relaxed { location } else { LocationId::NONE },
            order: event.operation.order,
            source,
            place,
            fails: kind == Kind::Read && event.operation.kind == OperationKind::CompareExchange,
            predecessors,
        });
    }
    nodes
}

/// The entry of a planned event that keeps when it was added.
pub fn entry_of(event: &Event, added: &Added, name_of: impl Fn(EventId) -> Name) -> Entry {
    Entry {
        thread: event.thread,
        index: event.index,
        outcome: event.outcome,
        condition: (event.operation.kind == OperationKind::Branch).then_some(event.operation.detail),
        added: added.clone(),
        reads: event.reads.map(|write| (write != EventId::NONE).then(|| name_of(write))),
    }
}
