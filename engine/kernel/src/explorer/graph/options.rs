//! Where an event can be added: which writes it observes ("for w in G.W_loc(a)" of TruSt, for operations on several
//! locations, and for operations whose accesses depend on what they observe).

use smallvec::SmallVec;

use super::trace::{before, counts, is_conditional, writes, Part};
use super::Visit;
use crate::execution::Event;
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId};

/// One way in which an event can be added.
pub struct Place {
    /// The writes that conflict with it and come after it; empty where it is added maximally.
    pub after: SmallVec<[EventId; 4]>,
    /// What it accesses there.
    pub accesses: Accesses,
    pub enabled: bool,
}

/// A write that conflicts with the event to be placed.
struct Conflict {
    id: EventId,
    /// Whether it has to stay before the event, or to come after it.
    fixed: Option<bool>,
}

impl Visit<'_> {
    /// The accesses that can matter: not the intents of cells of a container that nobody takes as a whole.
    pub fn effective<'a>(&'a self, accesses: &'a [Access]) -> impl Iterator<Item = (usize, &'a Access)> + 'a {
        accesses.iter().enumerate().filter(|(_, access)| match access.mode {
            AccessMode::IntentRead | AccessMode::IntentWrite => [AccessMode::Read, AccessMode::Write]
                .into_iter()
                .any(|mode| !self.execution.accessing(access.location, mode).is_empty()),
            AccessMode::Read | AccessMode::Write => true,
        })
    }

    /// The first part of `event`, accessing `accesses`, in which it observes what `writer` does.
    pub fn part_observing(&self, accesses: &[Access], writer: &Event, written: &[Access]) -> Option<Part> {
        let parts = accesses.iter().enumerate().flat_map(|(position, access)| {
            written
                .iter()
                .filter(move |write| {
                    write.location == access.location && writes(write.mode) && write.mode.conflicts(access.mode)
                })
                .map(move |write| Part::observing(position, writer, write.mode))
        });
        parts.min()
    }

    /// The first event from `from` on that knows the state in which it found a location, which is also that in which
    /// `from` found it. None if a write by an operation on other locations comes first.
    pub fn witness(&self, location: LocationId, from: EventId, limit: EventId) -> Option<&Event> {
        let events = |mode| {
            let events = before(self.execution.accessing(location, mode), limit);
            &events[events.partition_point(|id| *id < from)..]
        };
        let knows = |id: &&EventId| self.execution.event(**id).operation.target == location;
        let write = events(AccessMode::Write).first();
        let read = events(AccessMode::Read).iter().find(knows);
        let found = match (read, write) {
            (Some(read), Some(write)) if read < write => Some(read),
            (Some(read), None) => Some(read),
            (_, write) => write.filter(knows),
        };
        found.map(|id| self.execution.event(*id))
    }

    /// All ways in which `event` can be added to the events before `limit`, the maximal one first. Its parts before
    /// `locked` keep what they observe. `past` is the clock of what has to come before it.
    pub fn places(&self, event: &Event, limit: EventId, locked: Part, past: &[u32]) -> Vec<Place> {
        let mut places = Vec::new();
        self.places_accessing(event, &event.accesses, limit, locked, past, None, &mut places);
        if locked > Part::FIRST || !(is_conditional(event.operation.kind) || event.operation.may_block()) {
            return places;
        }
        let target = event.operation.target;
        // What it accesses further back differs; each state of its primary location is between two writes of it.
        places.clear();
        self.places_accessing(event, &event.accesses, limit, locked, past, Some(limit), &mut places);
        for &next in before(self.execution.accessing(target, AccessMode::Write), limit).iter().rev() {
            let earlier = self.execution.event(next);
            if counts(past, earlier) {
                break;
            }
            if next == event.id {
                continue;
            }
            let earlier = self.witness(target, next, limit).unwrap_or(earlier);
            let accesses = self.memory.accesses_in_state_of(event, earlier);
            let from = places.len();
            self.places_accessing(event, &accesses, limit, locked, past, Some(next), &mut places);
            let enabled = self.memory.enabled_before(event, earlier);
            for place in &mut places[from..] {
                place.enabled = enabled;
            }
        }
        places
    }

    /// The places for given accesses. With `split`, the writes of the primary location from that one on come after the
    /// event, and the others before it.
    #[allow(clippy::too_many_arguments)]
    fn places_accessing(
        &self,
        event: &Event,
        accesses: &Accesses,
        limit: EventId,
        locked: Part,
        past: &[u32],
        split: Option<EventId>,
        places: &mut Vec<Place>,
    ) {
        let mut conflicts: SmallVec<[Conflict; 8]> = SmallVec::new();
        for (position, access) in self.effective(accesses) {
            for mode in [AccessMode::Write, AccessMode::IntentWrite] {
                if !mode.conflicts(access.mode) {
                    continue;
                }
                for &id in before(self.execution.accessing(access.location, mode), limit).iter().rev() {
                    if id == event.id {
                        continue;
                    }
                    let writer = self.execution.event(id);
                    if counts(past, writer) {
                        if mode == AccessMode::Write {
                            break;
                        }
                        continue;
                    }
                    let fixed = match split {
                        _ if id > event.id => Some(true),
                        Some(split) if access.location == event.operation.target => Some(id >= split),
                        _ => self.settled(event, Part::observing(position, writer, mode), locked, id),
                    };
                    conflicts.push(Conflict { id, fixed });
                }
            }
        }
        conflicts.sort_unstable_by(|a, b| (b.id, a.fixed.is_none()).cmp(&(a.id, b.fixed.is_none())));
        conflicts.dedup_by(|next, kept| {
            let same = next.id == kept.id;
            if same && kept.fixed.is_none() {
                kept.fixed = next.fixed;
            }
            same
        });
        self.choose_after(&conflicts, accesses, &mut SmallVec::new(), places);
    }

    /// Whether a write has to come after (or before) an event some of whose parts were added long ago: a part that was
    /// revisited keeps what it observes, and the ones before it can only observe what there was then.
    fn settled(&self, event: &Event, part: Part, locked: Part, writer: EventId) -> Option<bool> {
        if part >= locked {
            return None;
        }
        let added = &self.trace.added[event.id.index()];
        if added.is_fixed(part) {
            return Some(false);
        }
        (self.trace.added[writer.index()].last() >= added.stamp(part).number).then_some(true)
    }

    /// Every set of conflicts that is closed under happens-before (what comes after a write that comes after the event
    /// comes after it too), the empty one first.
    fn choose_after(
        &self,
        conflicts: &[Conflict],
        accesses: &Accesses,
        after: &mut SmallVec<[EventId; 4]>,
        places: &mut Vec<Place>,
    ) {
        self.choose_from(conflicts, 0, accesses, after, places);
    }

    fn choose_from(
        &self,
        conflicts: &[Conflict],
        position: usize,
        accesses: &Accesses,
        after: &mut SmallVec<[EventId; 4]>,
        places: &mut Vec<Place>,
    ) {
        let Some(conflict) = conflicts.get(position) else {
            places.push(Place { after: after.clone(), accesses: accesses.clone(), enabled: true });
            return;
        };
        if conflict.fixed != Some(true) {
            self.choose_from(conflicts, position + 1, accesses, after, places);
        }
        // Those of a later position that stay before the event must not happen after this one.
        let closed = conflicts[..position]
            .iter()
            .all(|later| after.contains(&later.id) || !self.execution.happens_before(conflict.id, later.id));
        if conflict.fixed != Some(false) && closed {
            after.push(conflict.id);
            self.choose_from(conflicts, position + 1, accesses, after, places);
            after.pop();
        }
    }
}
