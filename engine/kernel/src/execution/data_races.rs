//! Data races: two threads access a plain variable, one of them writes, and no synchronisation orders them.
//!
//! Vector clocks as in FastTrack (Flanagan and Freund, PLDI'09), advanced by operations on primitives and atomics and
//! by spawn and join only, not by plain accesses. Apart from happens-before of the exploration, which orders every
//! conflict: here the question is whether something other than luck does.
//!
//! Where reads-from is chosen (RC11), what a thread learns of others is said by the writes that it
//! reads from and by memory orders: `synchronizes-with` of Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI'17, section 3,
//! which is computed along the execution, since every write that is read is older.

use rustc_hash::FxHashMap;

use super::clock::join;
use crate::operation::{AccessMode, EventId, LocationId, MemoryOrder, ThreadId};

/// Two unordered accesses; the second is the one at which the race was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataRace {
    pub location: LocationId,
    pub first: ThreadId,
    pub second: ThreadId,
}

struct Stamp {
    thread: ThreadId,
    mode: AccessMode,
    time: u32,
}

/// The detector of one execution.
#[derive(Default)]
pub struct DataRaces {
    threads: Vec<Vec<u32>>,
    released: FxHashMap<LocationId, Vec<u32>>,
    stamps: FxHashMap<LocationId, Vec<Stamp>>,
    /// What who reads from a write learns of: what came before it, or before a release fence, or is learned from the
    /// write that it updates (release sequences).
    published: FxHashMap<EventId, Vec<u32>>,
    /// For each thread what came before its last release fence, and what an acquire fence would let it learn of.
    fenced: Vec<Vec<u32>>,
    unacquired: Vec<Vec<u32>>,
}

impl DataRaces {
    pub fn reset(&mut self) {
        *self = DataRaces::default();
    }

    fn clock(&mut self, thread: ThreadId) -> &mut Vec<u32> {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Vec::new);
        }
        let clock = &mut self.threads[thread.index()];
        if clock.len() <= thread.index() {
            clock.resize(thread.index() + 1, 0);
            clock[thread.index()] = 1;
        }
        clock
    }

    /// The thread learns what was released at `location`, and releases what it has done unless it only reads.
    pub fn synchronise(&mut self, thread: ThreadId, location: LocationId, reads_only: bool) {
        if let Some(released) = self.released.get(&location) {
            let released = released.clone();
            join(self.clock(thread), &released);
        }
        if !reads_only {
            let clock = self.clock(thread).clone();
            join(self.released.entry(location).or_default(), &clock);
            self.clock(thread)[thread.index()] += 1;
        }
    }

    /// What the thread has done so far, for others to learn of once a store of it has reached memory.
    pub fn release(&mut self, thread: ThreadId) -> Vec<u32> {
        let clock = self.clock(thread).clone();
        self.clock(thread)[thread.index()] += 1;
        clock
    }

    /// What `release` gave can be learned of at `location` from now on.
    pub fn publish(&mut self, location: LocationId, released: &[u32]) {
        join(self.released.entry(location).or_default(), released);
    }

    /// The thread has read from a write.
    pub fn read_from(&mut self, thread: ThreadId, write: EventId, order: MemoryOrder) {
        let Some(published) = self.published.get(&write).cloned() else { return };
        match order.acquires() {
            true => join(self.clock(thread), &published),
            false => join(of_thread(&mut self.unacquired, thread), &published),
        }
    }

    /// The thread has written; `updated` is the write that it has read from if it was a read-modify-write.
    pub fn write(&mut self, thread: ThreadId, write: EventId, updated: Option<EventId>, order: MemoryOrder) {
        let mut published = of_thread(&mut self.fenced, thread).clone();
        if let Some(former) = updated.and_then(|former| self.published.get(&former)) {
            join(&mut published, former);
        }
        if order.releases() {
            join(&mut published, &self.release(thread));
        }
        if !published.is_empty() {
            self.published.insert(write, published);
        }
    }

    pub fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        if order.acquires() {
            let learned = of_thread(&mut self.unacquired, thread).clone();
            join(self.clock(thread), &learned);
        }
        if order.releases() {
            *of_thread(&mut self.fenced, thread) = self.release(thread);
        }
    }

    pub fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        let clock = self.clock(parent).clone();
        join(self.clock(child), &clock);
        self.clock(parent)[parent.index()] += 1;
    }

    pub fn join(&mut self, thread: ThreadId, ended: ThreadId) {
        let clock = self.clock(ended).clone();
        join(self.clock(thread), &clock);
    }

    /// Note a plain access; returns the race that it is part of.
    pub fn access(&mut self, thread: ThreadId, location: LocationId, mode: AccessMode) -> Option<DataRace> {
        let clock = self.clock(thread).clone();
        let stamps = self.stamps.entry(location).or_default();
        let unordered = stamps.iter().find(|stamp| {
            stamp.thread != thread
                && stamp.mode.conflicts(mode)
                && clock.get(stamp.thread.index()).copied().unwrap_or(0) < stamp.time
        });
        if let Some(stamp) = unordered {
            return Some(DataRace { location, first: stamp.thread, second: thread });
        }
        let time = clock[thread.index()];
        match stamps.iter_mut().find(|stamp| stamp.thread == thread && stamp.mode == mode) {
            Some(stamp) => stamp.time = time,
            None => stamps.push(Stamp { thread, mode, time }),
        }
        None
    }
}

fn of_thread(clocks: &mut Vec<Vec<u32>>, thread: ThreadId) -> &mut Vec<u32> {
    if clocks.len() <= thread.index() {
        clocks.resize_with(thread.index() + 1, Vec::new);
    }
    &mut clocks[thread.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ThreadId = ThreadId(1);
    const TWO: ThreadId = ThreadId(2);
    const VARIABLE: LocationId = LocationId(0);
    const LOCK: LocationId = LocationId(1);

    #[test]
    fn unordered_writes_race_and_writes_under_one_lock_do_not() {
        let mut races = DataRaces::default();
        assert_eq!(races.access(ONE, VARIABLE, AccessMode::Write), None);
        let found = races.access(TWO, VARIABLE, AccessMode::Read);
        assert_eq!(found, Some(DataRace { location: VARIABLE, first: ONE, second: TWO }));

        races.reset();
        races.synchronise(ONE, LOCK, false);
        assert_eq!(races.access(ONE, VARIABLE, AccessMode::Write), None);
        races.synchronise(ONE, LOCK, false);
        races.synchronise(TWO, LOCK, false);
        assert_eq!(races.access(TWO, VARIABLE, AccessMode::Write), None);
    }

    #[test]
    fn spawn_and_join_order_accesses() {
        let mut races = DataRaces::default();
        races.access(ThreadId::MAIN, VARIABLE, AccessMode::Write);
        races.spawn(ThreadId::MAIN, ONE);
        assert_eq!(races.access(ONE, VARIABLE, AccessMode::Write), None);
        races.join(ThreadId::MAIN, ONE);
        assert_eq!(races.access(ThreadId::MAIN, VARIABLE, AccessMode::Read), None);
    }
}
