//! Accesses that are not events: on locations that have never raced.
//!
//! An access is worth an event only if it can race. Until a location is seen in a race, its accesses cost one
//! epoch comparison (the idea of FastTrack, Flanagan and Freund, PLDI'09): each is stamped with its thread and the
//! number of events that the thread had performed, and a later conflicting access of another thread must have seen
//! the event after that. If one has not, the location races and must become visible.
//!
//! Why leaving them out is sound: consider a shortest execution prefix whose last access races on a location without
//! events. The prefix without that access is equivalent, in the dependencies of the visible operations, to the
//! prefix of an explored execution, in which the thread does the same access next; there the race is seen.
//!
//! Where stores go through buffers, what another thread has seen of the writer does not tell that the write has reached
//! memory: it can have seen a later store that overtook it. So there a write counts as seen only once the other thread
//! has seen an event of the writer, after the write, that waited for the writer's buffers to drain. If all conflicting
//! accesses to a location are ordered in this way, a store to it may as well skip the buffer: between the store and the
//! next drain nobody else looks, the writer's own loads get the same value from memory, and the other stores leave the
//! buffer as before. Conversely a flush of it can be put right before whatever leaves the buffer next. The order is
//! made of happens-before and of the drains of single threads, which all executions of a class share, so the argument
//! above holds for it as well.

use crate::execution::ClockTable;
use crate::operation::{AccessMode, EventId, LocationId, ThreadId};

struct Stamp {
    thread: ThreadId,
    mode: AccessMode,
    /// Events that the thread had performed when it made the access.
    count: u32,
}

#[derive(Default)]
struct LocationEpochs {
    execution: u64,
    stamps: Vec<Stamp>,
}

#[derive(Default)]
pub struct EpochTable {
    locations: Vec<LocationEpochs>,
    execution: u64,
    /// Whether stores go through buffers.
    buffered: bool,
    /// For each thread the numbers of those of its events that waited for its buffers.
    drains: Vec<Vec<u32>>,
}

impl EpochTable {
    /// Forget the accesses of the last execution.
    pub fn begin_execution(&mut self, buffered: bool) {
        self.execution += 1;
        self.buffered = buffered;
        self.drains.iter_mut().for_each(Vec::clear);
    }

    /// Note that the `index`th event of a thread waited until the thread's store buffers were empty.
    pub fn note_drain(&mut self, thread: ThreadId, index: u32) {
        if self.drains.len() <= thread.index() {
            self.drains.resize_with(thread.index() + 1, Vec::new);
        }
        self.drains[thread.index()].push(index);
    }

    /// Note an access by a thread that has performed `count` events, the last of which is `last`. Returns true if it
    /// races with an earlier access of this execution.
    pub fn access(
        &mut self,
        location: LocationId,
        mode: AccessMode,
        thread: ThreadId,
        count: u32,
        last: EventId,
        clocks: &ClockTable,
    ) -> bool {
        let index = location.index();
        if self.locations.len() <= index {
            self.locations.resize_with(index + 1, LocationEpochs::default);
        }
        let (buffered, drains) = (self.buffered, &self.drains);
        let has_seen = |stamp: &Stamp| {
            let seen = if last == EventId::NONE { 0 } else { clocks.count(last, stamp.thread) };
            let reads = matches!(stamp.mode, AccessMode::Read | AccessMode::IntentRead);
            if reads || !buffered {
                return seen > stamp.count;
            }
            let drains = drains.get(stamp.thread.index()).map_or(&[][..], Vec::as_slice);
            let next = drains.get(drains.partition_point(|drain| *drain < stamp.count));
            next.is_some_and(|drain| seen > *drain)
        };
        let epochs = &mut self.locations[index];
        if epochs.execution != self.execution {
            epochs.execution = self.execution;
            epochs.stamps.clear();
        }
        let mut own = None;
        for (position, stamp) in epochs.stamps.iter().enumerate() {
            if stamp.thread == thread {
                if stamp.mode == mode {
                    own = Some(position);
                }
            } else if stamp.mode.conflicts(mode) && !has_seen(stamp) {
                return true;
            }
        }
        if let Some(position) = own {
            epochs.stamps[position].count = count;
            return false;
        }
        if mode == AccessMode::Write {
            // Ordered after all others, so a later access that is ordered after this one is ordered after them.
            epochs.stamps.clear();
        }
        epochs.stamps.push(Stamp { thread, mode, count });
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ThreadId = ThreadId(1);
    const TWO: ThreadId = ThreadId(2);
    const PLACE: LocationId = LocationId(5);

    /// Clocks in which event 0 is the first of thread 1, and event 1 of thread 2 has seen it.
    fn clocks() -> ClockTable {
        let mut clocks = ClockTable::default();
        clocks.push(&[0, 1, 0]);
        clocks.push(&[0, 1, 1]);
        clocks
    }

    #[test]
    fn conflicting_accesses_without_an_event_between_them_race() {
        for (first, second, races) in [
            (AccessMode::Write, AccessMode::Read, true),
            (AccessMode::Read, AccessMode::Write, true),
            (AccessMode::Read, AccessMode::Read, false),
            (AccessMode::IntentWrite, AccessMode::IntentWrite, false),
            (AccessMode::IntentWrite, AccessMode::Read, true),
        ] {
            let mut epochs = EpochTable::default();
            epochs.begin_execution(false);
            assert!(!epochs.access(PLACE, first, ONE, 0, EventId::NONE, &clocks()));
            let raced = epochs.access(PLACE, second, TWO, 0, EventId::NONE, &clocks());
            assert_eq!(raced, races, "{first:?} then {second:?}");
        }
    }

    #[test]
    fn an_access_before_an_event_that_the_other_thread_has_seen_does_not_race() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution(false);
        // Thread 1 writes before its first event; thread 2 has seen that event.
        epochs.access(PLACE, AccessMode::Write, ONE, 0, EventId::NONE, &clocks());
        assert!(!epochs.access(PLACE, AccessMode::Write, TWO, 1, EventId(1), &clocks()));
    }

    #[test]
    fn an_access_after_the_last_event_that_the_other_thread_has_seen_races() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution(false);
        epochs.access(PLACE, AccessMode::Write, ONE, 1, EventId(0), &clocks());
        assert!(epochs.access(PLACE, AccessMode::Write, TWO, 1, EventId(1), &clocks()));
    }

    #[test]
    fn a_buffered_write_does_not_race_once_the_other_thread_has_seen_a_drain_after_it() {
        for (drain, seen, races) in [(None, 0, true), (Some(0), 0, true), (Some(0), 1, false), (Some(1), 1, true)] {
            let mut epochs = EpochTable::default();
            epochs.begin_execution(true);
            epochs.access(PLACE, AccessMode::Write, ONE, 0, EventId::NONE, &clocks());
            if let Some(drain) = drain {
                epochs.note_drain(ONE, drain);
            }
            // Event 1 of the clocks has seen one event of thread 1, its 0th.
            let last = if seen == 0 { EventId::NONE } else { EventId(1) };
            let raced = epochs.access(PLACE, AccessMode::Read, TWO, 1, last, &clocks());
            assert_eq!(raced, races, "drained by {drain:?}, {seen} events seen");
        }
    }

    #[test]
    fn a_buffered_location_that_was_read_may_be_written_once_the_read_was_seen() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution(true);
        epochs.access(PLACE, AccessMode::Read, ONE, 0, EventId::NONE, &clocks());
        assert!(!epochs.access(PLACE, AccessMode::Write, TWO, 1, EventId(1), &clocks()));
    }

    #[test]
    fn a_new_execution_knows_no_accesses_of_the_last() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution(false);
        epochs.access(PLACE, AccessMode::Write, ONE, 0, EventId::NONE, &clocks());
        epochs.begin_execution(false);
        assert!(!epochs.access(PLACE, AccessMode::Write, TWO, 0, EventId::NONE, &clocks()));
    }
}
