//! The execution graph under sequential consistency: the events of an `Execution`, with what TruSt adds to them.
//!
//! A consistent graph is kept as one of its linearisations, which is the execution itself: program order, reads-from
//! and coherence are read off the order of the events at each location, and happens-before is the execution's vector
//! clocks. What TruSt adds is the order `<_G` in which the events joined the graph (stamps), the causal prefix `porf`
//! (clocks over program order and reads-from only), and the events that were not added maximally (`NonMaximal`).

use smallvec::SmallVec;

use super::relaxed::Coherence;
use crate::execution::{join, ClockTable, Event, Execution};
use crate::operation::{Access, AccessMode, EventId, LocationId, OperationKind, ThreadId};

/// Which of the things that an event observes: the access, and for a whole container the cell (0 stands for the last
/// write of the whole). An event that accesses several locations observes one after another, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Part(u64);

impl Part {
    pub const FIRST: Part = Part(0);
    /// Beyond all parts: what an event does once it has observed everything.
    pub const LAST: Part = Part(u64::MAX);

    /// The part of an access at `position` that observes the last write of the whole location.
    pub fn whole(position: usize) -> Part {
        Part((position as u64) << 33)
    }

    /// The part of an access at `position` that observes what `writer` does in the given mode.
    pub fn observing(position: usize, writer: &Event, mode: AccessMode) -> Part {
        match mode {
            AccessMode::IntentWrite => Part((position as u64) << 33 | (u64::from(writer.operation.target.0) + 1)),
            _ => Part::whole(position),
        }
    }

    pub fn successor(self) -> Part {
        Part(self.0 + 1)
    }
}

/// A place in the order `<_G`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp {
    pub number: u32,
    pub part: Part,
}

/// When the parts of an event were added: from each listed part on, with that number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Added(SmallVec<[(Part, u32); 1]>);

impl Added {
    pub fn at(number: u32) -> Added {
        Added(SmallVec::from_slice(&[(Part::FIRST, number)]))
    }

    /// When the first part was added.
    #[inline]
    pub fn first(&self) -> u32 {
        self.0[0].1
    }

    /// When the last part was added.
    #[inline]
    pub fn last(&self) -> u32 {
        self.0[self.0.len() - 1].1
    }

    pub fn stamp(&self, part: Part) -> Stamp {
        let position = self.0.partition_point(|(from, _)| *from <= part);
        Stamp { number: self.0[position - 1].1, part }
    }

    /// Whether what the part observes was settled by the event that revisited it.
    pub fn is_fixed(&self, part: Part) -> bool {
        self.0[1..].iter().any(|(from, _)| *from == part.successor())
    }

    /// The first part that was added at `number` or later.
    pub fn boundary(&self, number: u32) -> Part {
        let position = self.0.partition_point(|(_, at)| *at < number);
        self.0.get(position).map_or(Part::LAST, |(from, _)| *from)
    }

    /// The same with the parts from `from` on added anew.
    pub fn again(&self, from: Part, number: u32) -> Added {
        let mut parts: SmallVec<[(Part, u32); 1]> = self.0.iter().copied().filter(|(part, _)| *part < from).collect();
        parts.push((from, number));
        Added(parts)
    }
}

/// An event that no revisit may delete, unless by one whose causal prefix it is in: it was not added maximally, up to
/// this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonMaximal {
    pub thread: ThreadId,
    pub index: u32,
    pub stamp: Stamp,
}

/// An operation that was taken out of the graph because what revisited it left it blocked, or that is left blocked at
/// the end. TruSt would keep it as a blocked event with its old stamp; here the thread just has not got there yet, and
/// may observe only what was added since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferred {
    pub thread: ThreadId,
    pub index: u32,
    /// When the operation was first added.
    pub stamp: u32,
    /// It may observe only what was added at this number or later.
    pub floor: u32,
    /// The event that revisited it; itself (as far as thread and index go) if there is none.
    pub by: (ThreadId, u32),
}

/// The stamps, causal prefixes and marks of the events of the current execution.
#[derive(Default)]
pub struct Trace {
    pub added: Vec<Added>,
    /// Row `e`, column `t` counts the events of thread `t` in the causal prefix of `e`, itself included.
    pub causes: ClockTable,
    positions: Vec<Vec<EventId>>,
    pub non_maximal: Vec<NonMaximal>,
    pub deferred: Vec<Deferred>,
    /// The relaxed writes of each location in coherence order.
    pub coherence: Coherence<EventId>,
    scratch: Vec<u32>,
}

impl Trace {
    pub fn truncate(&mut self, length: usize) {
        self.added.truncate(length);
        self.causes.truncate(length);
        for positions in &mut self.positions {
            let keep = positions.partition_point(|id| id.index() < length);
            positions.truncate(keep);
        }
    }

    /// The last event of the execution has this stamp.
    pub fn append(&mut self, execution: &Execution, added: Added) {
        let event = &execution.events()[execution.len() - 1];
        let mut clock = std::mem::take(&mut self.scratch);
        self.causes_before(event, &mut clock);
        for access in &event.accesses {
            for_observed(execution, access, event.id, |writer| join(&mut clock, self.causes.row(writer)));
        }
        let thread = event.thread.index();
        if clock.len() <= thread {
            clock.resize(thread + 1, 0);
        }
        clock[thread] = event.index + 1;
        self.causes.push(&clock);
        self.scratch = clock;
        if self.positions.len() <= thread {
            self.positions.resize_with(thread + 1, Vec::new);
        }
        self.positions[thread].push(event.id);
        self.added.push(added);
    }

    /// The causal prefix of an event through its thread alone.
    pub fn causes_before(&self, event: &Event, clock: &mut Vec<u32>) {
        clock.clear();
        clock.resize(self.causes.width(), 0);
        for predecessor in event.predecessors() {
            join(clock, self.causes.row(predecessor));
        }
    }

    /// The event of a thread with an index.
    pub fn position(&self, thread: usize, index: u32) -> EventId {
        self.positions[thread][index as usize]
    }

    pub fn find(&self, thread: usize, index: u32) -> Option<EventId> {
        self.positions.get(thread)?.get(index as usize).copied()
    }

    pub fn deferral(&self, event: &Event) -> Option<&Deferred> {
        self.deferred.iter().rev().find(|one| one.thread == event.thread && one.index == event.index)
    }
}

/// Whether a clock counts an event.
#[inline]
pub fn counts(clock: &[u32], event: &Event) -> bool {
    clock.get(event.thread.index()).is_some_and(|count| *count > event.index)
}

/// The events of a list that come before another.
#[inline]
pub fn before(events: &[EventId], limit: EventId) -> &[EventId] {
    &events[..events.partition_point(|id| *id < limit)]
}

/// The writes that an access just before `limit` observes: the last one of the location, and those of single cells
/// after it if the access is to the whole.
pub fn for_observed(execution: &Execution, access: &Access, limit: EventId, mut observe: impl FnMut(EventId)) {
    let last = last_write(execution, access.location, limit);
    if let Some(last) = last {
        observe(last);
    }
    if matches!(access.mode, AccessMode::Read | AccessMode::Write) {
        let cells = before(execution.accessing(access.location, AccessMode::IntentWrite), limit);
        for &cell in cells.iter().rev().take_while(|cell| last.is_none_or(|last| **cell > last)) {
            observe(cell);
        }
    }
}

/// The last write of a whole location before `limit`.
pub fn last_write(execution: &Execution, location: LocationId, limit: EventId) -> Option<EventId> {
    before(execution.accessing(location, AccessMode::Write), limit).last().copied()
}

/// Whether the mode is one in which an operation changes the location.
#[inline]
pub fn writes(mode: AccessMode) -> bool {
    matches!(mode, AccessMode::Write | AccessMode::IntentWrite)
}

/// Whether what the operation accesses depends on the state of its primary location.
pub fn is_conditional(kind: OperationKind) -> bool {
    use OperationKind::*;
    matches!(
        kind,
        CompareExchange
            | TryAcquire
            | SemaphoreTryAcquire
            | OwnedTryAcquire
            | ChannelTryGet
            | ChannelTryPut
            | ChannelDone
            | CellStore
            | CellDelete
            | CellDefault
            | CellAppend
    )
}
