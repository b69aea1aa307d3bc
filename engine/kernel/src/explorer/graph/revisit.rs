//! Backward revisits of TruSt: `MaybeBackwardRevisit`, with `IsMaximallyAdded` for what a revisit deletes.
//!
//! Kokologiannakis, Marmanis, Gladstein and Vafeiadis, "Truly Stateless, Optimal Dynamic Partial Order Reduction"
//! (POPL'22), Algorithm 1, here for graphs that are kept as linearisations.

use smallvec::SmallVec;

use super::options::Place;
use super::plan::{Plan, Refreshed};
use super::relaxed::{entry_of, RelaxedRevisit};
use super::trace::{before, counts, is_conditional, writes, Added, NonMaximal, Part, Stamp};
use super::visit::{Prefix, Visit};
use crate::execution::{join, Event};
use crate::operation::{accesses_conflict, Access, AccessMode, EventId, OperationKind};

impl Visit<'_> {
    /// Backward revisits by an operation on one location, of which each event observes the last write before it.
    pub fn revisit_chain(&mut self, event: &Event, limit: EventId, locked: Part, prefix: &Prefix) {
        let Some(access) = self.effective(&event.accesses).next().map(|(_, access)| *access) else { return };
        let execution = self.execution;
        let location = access.location;
        let mut candidates: SmallVec<[EventId; 16]> = SmallVec::new();
        let mut oldest = EventId(0);
        for &id in before(execution.accessing(location, AccessMode::Write), limit).iter().rev() {
            // All that accessed the location before this is in the past as well.
            if counts(&prefix.past, execution.event(id)) {
                oldest = id;
                break;
            }
            candidates.push(id);
        }
        for mode in [AccessMode::Read, AccessMode::IntentRead] {
            let reads = before(execution.accessing(location, mode), limit).iter().rev();
            candidates.extend(reads.take_while(|id| **id >= oldest).copied());
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        let alone = [Access { location, mode: AccessMode::Write }];
        for id in candidates {
            let revisited = execution.event(id);
            if id == event.id || counts(&prefix.past, revisited) {
                continue;
            }
            let observed = super::trace::last_write(execution, location, id);
            if locked == Part::FIRST {
                // What is revisited observes a write that the event now observes instead, in the state left by it.
                let earlier = self.witness(location, id, limit).unwrap_or(revisited);
                let accesses = self.memory.accesses_in_state_of(event, earlier);
                if !accesses.iter().any(|access| writes(access.mode))
                    || !self.memory.enabled_before(event, earlier)
                    || self.below_floor(event, observed.into_iter())
                {
                    continue;
                }
            } else if !writes(access.mode) {
                continue;
            }
            let Some(part) = self.part_observing(&revisited.accesses, event, &alone) else { continue };
            match observed {
                None => self.revisit(event, limit, prefix, revisited, part, &[], &alone, None),
                Some(observed) => {
                    let mut full = prefix.clone();
                    join(&mut full.causes, self.trace.causes.row(observed));
                    join(&mut full.past, execution.clocks().row(observed));
                    self.revisit(event, limit, &full, revisited, part, &[], &alone, None);
                }
            }
        }
    }

    /// What the event observes at a place.
    pub fn observed(&self, event: &Event, place: &Place, limit: EventId) -> SmallVec<[EventId; 4]> {
        let mut observed = SmallVec::new();
        let allowed = |id: &EventId| *id != event.id && !place.after.contains(id);
        for access in &place.accesses {
            let whole = before(self.execution.accessing(access.location, AccessMode::Write), limit);
            let last = whole.iter().rev().copied().find(|id| allowed(id));
            observed.extend(last);
            if matches!(access.mode, AccessMode::Read | AccessMode::Write) {
                let cells = before(self.execution.accessing(access.location, AccessMode::IntentWrite), limit);
                let cells = cells.iter().rev().take_while(|cell| last.is_none_or(|last| **cell > last));
                observed.extend(cells.copied().filter(|id| allowed(id)));
            }
        }
        observed
    }

    /// Backward revisits by an operation on several locations that is added at a place.
    pub fn revisit_from(&mut self, event: &Event, limit: EventId, prefix: &Prefix, place: &Place) {
        let execution = self.execution;
        let observed = self.observed(event, place, limit);
        // Left blocked at the end, it can only go on at an earlier place.
        let at_end = place.after.is_empty() && event.id.index() >= execution.len();
        if !place.enabled || at_end || self.below_floor(event, observed.iter().copied()) {
            return;
        }
        let mut full = prefix.clone();
        for id in &observed {
            join(&mut full.causes, self.trace.causes.row(*id));
            join(&mut full.past, execution.clocks().row(*id));
        }
        let mut candidates: Vec<EventId> = Vec::new();
        for access in place.accesses.iter().filter(|access| writes(access.mode)) {
            for mode in AccessMode::ALL.into_iter().filter(|mode| mode.conflicts(access.mode)) {
                candidates.extend(before(execution.accessing(access.location, mode), limit));
            }
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.dedup();
        for id in candidates {
            let revisited = execution.event(id);
            if id == event.id || counts(&full.past, revisited) {
                continue;
            }
            let Some(part) = self.part_observing(&revisited.accesses, event, &place.accesses) else { continue };
            // A write that the event does not come before comes before it.
            let writes_before = !place.after.contains(&id)
                && self.part_observing(&place.accesses, revisited, &revisited.accesses).is_some();
            if !writes_before {
                self.revisit(event, limit, &full, revisited, part, &place.after, &place.accesses, None);
            }
        }
    }

    /// Let `revisited` observe `event` from `part` on, if all that this deletes was added maximally
    /// (`MaybeBackwardRevisit`). `prefix` is that of the event with what it observes; `after` are the writes that come
    /// after it.
    #[allow(clippy::too_many_arguments)]
    pub fn revisit(
        &mut self,
        event: &Event,
        limit: EventId,
        prefix: &Prefix,
        revisited: &Event,
        part: Part,
        after: &[EventId],
        accesses: &[Access],
        relaxed: Option<&RelaxedRevisit>,
    ) {
        let execution = self.execution;
        let stamp = self.trace.added[revisited.id.index()].stamp(part);
        let caused = |other: &Event| counts(&prefix.causes, other);
        let still_kept =
            |one: &NonMaximal| prefix.causes.get(one.thread.index()).is_some_and(|count| *count > one.index);
        if self.trace.non_maximal.iter().any(|one| one.stamp >= stamp && !still_kept(one)) {
            return;
        }
        // No deleted event may happen before a kept one: it was to be added after all of them.
        for (thread, &count) in prefix.past.iter().enumerate() {
            if count > prefix.causes.get(thread).copied().unwrap_or(0) {
                let latest = self.trace.position(thread, count - 1);
                let added = &self.trace.added[latest.index()];
                if latest == revisited.id || added.first() >= stamp.number {
                    return;
                }
                if added.last() >= stamp.number && !self.forced(latest, stamp, limit, prefix) {
                    return;
                }
            }
        }
        if self.consistency.is_some() && !self.relaxed_deletable(event, limit, prefix, revisited, stamp) {
            return;
        }
        let kept = |id: EventId| {
            id != event.id
                && id != revisited.id
                && (caused(execution.event(id)) || self.trace.added[id.index()].first() < stamp.number)
        };
        if !self.adds_constraints_maximally(limit, &|id| id == event.id || id == revisited.id || kept(id)) {
            return;
        }
        let mut order: Vec<EventId> = (0..limit.0).map(EventId).filter(|id| kept(*id)).collect();

        // The event, before the kept writes that it does not observe.
        let follow: SmallVec<[EventId; 4]> = after.iter().copied().filter(|id| kept(*id)).collect();
        let moved = self.insert(&mut order, event, &follow);
        let contradicts = |id: &EventId| {
            let other = execution.event(*id);
            counts(&prefix.past, other) || self.part_observing(&other.accesses, event, accesses).is_some()
        };
        if order[moved + 1..].iter().any(contradicts) {
            return;
        }
        // The revisited event, before what it came before because of its earlier parts.
        let mut follow: SmallVec<[EventId; 4]> = SmallVec::new();
        if part > Part::FIRST {
            let later = order.iter().copied().filter(|id| *id > revisited.id && *id != event.id);
            follow.extend(later.filter(|id| self.comes_before(revisited, part, execution.event(*id))));
        }
        let moved = self.insert(&mut order, revisited, &follow);
        if order[moved + 1..].contains(&event.id) {
            return;
        }

        let mut plan = self.plan(0);
        let mut next = self.next + 1;
        let revisited_added = self.trace.added[revisited.id.index()].clone();
        let revisited_added = if self.has_more_parts(revisited) {
            let from = part.successor();
            plan.refreshed.push(Refreshed { thread: revisited.thread, index: revisited.index, from });
            next += 1;
            revisited_added.again(from, next - 1)
        } else {
            revisited_added
        };
        // Events of which only the later parts are deleted observe the rest anew, again as late as they can.
        let partial: SmallVec<[EventId; 4]> = order
            .iter()
            .copied()
            .filter(|id| *id != event.id && *id != revisited.id && !caused(execution.event(*id)))
            .filter(|id| self.trace.added[id.index()].last() >= stamp.number)
            .collect();
        let mut again: SmallVec<[(EventId, Added); 4]> = SmallVec::new();
        for id in partial {
            let other = execution.event(id);
            let added = &self.trace.added[id.index()];
            let from = added.boundary(stamp.number);
            plan.refreshed.push(Refreshed { thread: other.thread, index: other.index, from });
            again.push((id, added.again(from, next)));
            next += 1;
            if (0..other.accesses.len()).any(|position| Part::whole(position) >= from) {
                let at = order.iter().position(|other| *other == id).unwrap_or(0);
                let follow: SmallVec<[EventId; 4]> = order[at + 1..]
                    .iter()
                    .copied()
                    .filter(|later| self.comes_before(other, from, execution.event(*later)))
                    .collect();
                order.remove(at);
                self.insert(&mut order, other, &follow);
            }
        }
        let own = match self.trace.added.get(event.id.index()) {
            Some(added) if event.id < limit => added.clone(),
            _ => Added::at(self.next),
        };
        let non_maximal = NonMaximal {
            thread: event.thread,
            index: event.index,
            stamp: Stamp { number: own.last(), part: Part::LAST },
        };
        let mut revisitor = 0;
        for id in &order {
            let other = execution.event(*id);
            let added = if *id == event.id {
                revisitor = plan.entries.len();
                own.clone()
            } else if *id == revisited.id {
                plan.revisited = Some((plan.entries.len(), 0));
                revisited_added.clone()
            } else if let Some((_, added)) = again.iter().find(|(other, _)| other == id) {
                added.clone()
            } else {
                self.trace.added[id.index()].clone()
            };
            plan.entries.push(entry_of(other, &added, |id| self.name(id)));
        }
        plan.revisited = plan.revisited.map(|(revisited, _)| (revisited, revisitor));
        plan.next = next;
        plan.deferred.retain(|deferred| deferred.stamp < stamp.number);
        self.keep_non_maximal(&mut plan, limit, &kept, revisited);
        if relaxed.is_none() {
            plan.non_maximal.push(non_maximal);
        }
        if self.consistency.is_some() {
            self.push_relaxed(plan, event, revisited, &kept, relaxed);
        } else {
            self.plans.push(plan);
        }
    }

    /// Whether the event has parts that are added after the one in which it is revisited: a write, or further reads.
    fn has_more_parts(&self, event: &Event) -> bool {
        is_conditional(event.operation.kind)
            || event.operation.kind == OperationKind::ReadModifyWrite
            || event.accesses.iter().any(|access| writes(access.mode))
            || self.effective(&event.accesses).nth(1).is_some()
            || event
                .accesses
                .iter()
                .any(|access| !self.execution.accessing(access.location, AccessMode::IntentWrite).is_empty())
    }

    /// Whether `event` comes before `later` because of a part before `part`.
    fn comes_before(&self, event: &Event, part: Part, later: &Event) -> bool {
        self.part_observing(&event.accesses, later, &later.accesses).is_some_and(|at| at < part)
    }

    /// Append an event to an order, but before the events in `follow` and what depends on those. Returns where it is.
    fn insert(&self, order: &mut Vec<EventId>, event: &Event, follow: &[EventId]) -> usize {
        if follow.is_empty() {
            order.push(event.id);
            return order.len() - 1;
        }
        let (mut head, mut tail): (Vec<EventId>, Vec<EventId>) = (Vec::new(), Vec::new());
        for &id in order.iter() {
            let other = self.execution.event(id);
            let depends =
                follow.contains(&id) || tail.iter().any(|earlier| depends(self.execution.event(*earlier), other));
            if depends { &mut tail } else { &mut head }.push(id);
        }
        let position = head.len();
        head.push(event.id);
        head.append(&mut tail);
        *order = head;
        position
    }

    /// Whether the kept events that `event` happens before follow from its parts that were added before `stamp`.
    fn forced(&self, event: EventId, stamp: Stamp, limit: EventId, prefix: &Prefix) -> bool {
        let execution = self.execution;
        let this = execution.event(event);
        let added = &self.trace.added[event.index()];
        let mut following: Vec<(bool, EventId)> = Vec::new();
        for id in (event.0 + 1..limit.0).map(EventId) {
            let other = execution.event(id);
            if !counts(&prefix.causes, other) && self.trace.added[id.index()].first() >= stamp.number {
                continue;
            }
            if let Some(part) = self.part_observing(&this.accesses, other, &other.accesses) {
                following.push((added.stamp(part).number < stamp.number, id));
            }
        }
        following.iter().all(|(early, id)| {
            *early || following.iter().any(|(early, first)| *early && execution.happens_before(*first, *id))
        })
    }

    /// Which of the non-maximal events still are in a plan that deletes what is not kept: those that something added
    /// earlier still comes after, and drawn alternatives other than the first.
    fn keep_non_maximal(&self, plan: &mut Plan, limit: EventId, kept: &dyn Fn(EventId) -> bool, revisited: &Event) {
        let execution = self.execution;
        let deferred = std::mem::take(&mut plan.deferred);
        plan.non_maximal.retain(|marked| {
            let id = self.trace.find(marked.thread.index(), marked.index).filter(|id| *id < limit && kept(*id));
            let Some(id) = id else { return false };
            let event = execution.event(id);
            let later = (id.0 + 1..limit.0).map(EventId).filter(|other| *other == revisited.id || kept(*other));
            event.outcome != 0
                || deferred.iter().any(|one| one.by == (marked.thread, marked.index))
                || later.into_iter().any(|other| {
                    self.trace.added[other.index()].first() < marked.stamp.number
                        && accesses_conflict(&execution.event(other).accesses, &event.accesses)
                })
        });
        plan.deferred = deferred;
    }
}

/// Whether two events cannot be swapped where they are adjacent.
fn depends(first: &Event, second: &Event) -> bool {
    let enables = |one: &Event, other: &Event| {
        (one.operation.kind == OperationKind::Spawn && one.operation.detail == other.thread.0)
            || (other.operation.kind == OperationKind::Join && other.operation.detail == one.thread.0)
    };
    first.thread == second.thread || accesses_conflict(&first.accesses, &second.accesses) || enables(first, second)
}
