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
}

impl EpochTable {
    /// Forget the accesses of the last execution.
    pub fn begin_execution(&mut self) {
        self.execution += 1;
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
            } else if stamp.mode.conflicts(mode)
                && (last == EventId::NONE || clocks.count(last, stamp.thread) <= stamp.count)
            {
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
            epochs.begin_execution();
            assert!(!epochs.access(PLACE, first, ONE, 0, EventId::NONE, &clocks()));
            let raced = epochs.access(PLACE, second, TWO, 0, EventId::NONE, &clocks());
            assert_eq!(raced, races, "{first:?} then {second:?}");
        }
    }

    #[test]
    fn an_access_before_an_event_that_the_other_thread_has_seen_does_not_race() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution();
        // Thread 1 writes before its first event; thread 2 has seen that event.
        epochs.access(PLACE, AccessMode::Write, ONE, 0, EventId::NONE, &clocks());
        assert!(!epochs.access(PLACE, AccessMode::Write, TWO, 1, EventId(1), &clocks()));
    }

    #[test]
    fn an_access_after_the_last_event_that_the_other_thread_has_seen_races() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution();
        epochs.access(PLACE, AccessMode::Write, ONE, 1, EventId(0), &clocks());
        assert!(epochs.access(PLACE, AccessMode::Write, TWO, 1, EventId(1), &clocks()));
    }

    #[test]
    fn a_new_execution_knows_no_accesses_of_the_last() {
        let mut epochs = EpochTable::default();
        epochs.begin_execution();
        epochs.access(PLACE, AccessMode::Write, ONE, 0, EventId::NONE, &clocks());
        epochs.begin_execution();
        assert!(!epochs.access(PLACE, AccessMode::Write, TWO, 0, EventId::NONE, &clocks()));
    }
}
