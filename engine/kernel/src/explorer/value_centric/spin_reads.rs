//! Threads that stopped after a spin read, in a loop that does nothing else or for a predicate.
//!
//! Such a read is like others, after which its thread has no event: an execution in which the thread read
//! again later is in another class, or in the same one if it read the same. Whether the thread spins for ever is not
//! the same in all executions of a class, since the class does not order what it read and what was written afterwards.
//! But an execution in which it does spin for ever has one in its class in which all such reads are last at their
//! locations: a read changes nothing, and nothing of its thread follows. So each class is searched for an execution of
//! that kind, and that one is run.

use smallvec::SmallVec;

use super::events::{EventIndex, Observation, INITIAL};
use super::extend::{good_writes, Pending};
use super::order::PartialOrder;
use super::realise::realise;
use super::ValueCentric;
use crate::explorer::SpinRead;
use crate::operation::{EventId, LocationId};

/// What is said of the spin reads in the running execution, in the terms of the driver.
#[derive(Default)]
pub struct SpinReads {
    reads: Vec<SpinRead>,
    silent: Vec<EventId>,
}

impl SpinReads {
    pub fn note(&mut self, reads: &[SpinRead], silent: &[EventId]) {
        self.reads = reads.to_vec();
        self.silent = silent.to_vec();
    }
}

impl ValueCentric {
    /// An execution of the last one's class in which the spin reads come last.
    pub(super) fn spin_reads_last(&mut self) -> Option<Vec<EventIndex>> {
        let SpinReads { reads, silent } = std::mem::take(&mut self.spin_reads);
        if reads.is_empty() {
            return None;
        }
        let known = |event: &EventId| self.trace.get(event.index()).copied();
        let reads =
            reads.iter().map(|read| Some((known(&read.event)?, read.location))).collect::<Option<Vec<_>>>()?;
        let silent: Vec<EventIndex> = silent.iter().filter_map(known).collect();
        let narrow = self.widen_good_writes();
        let order = self.order_with_spin_reads_last(&reads, &silent);
        let trace = order.and_then(|order| realise(&self.events, order, &self.trace, self.root));
        for (event, good) in narrow {
            self.events.set_good(event, good);
        }
        trace
    }

    fn order_with_spin_reads_last(
        &self,
        reads: &[(EventIndex, LocationId)],
        silent: &[EventIndex],
    ) -> Option<PartialOrder> {
        let mut order = PartialOrder::of_program(&self.events);
        for (event, location) in reads {
            let thread = self.events.get(*event).thread;
            for &write in self.events.writers(*location) {
                let is_news = self.events.get(write).thread != thread && !silent.contains(&write);
                if is_news {
                    order.insert(&self.events, write, *event).ok()?;
                }
            }
        }
        Some(order)
    }

    /// Let every read observe what it may in an execution of the class: what was written after its good writes were
    /// decided on has been left to other nodes. Returns what they were.
    fn widen_good_writes(&mut self) -> Vec<(EventIndex, SmallVec<[EventIndex; 2]>)> {
        let mut narrow = Vec::new();
        for event in 0..self.events.len() as EventIndex {
            let vertex = self.events.get(event);
            let [Observation { good, .. }] = &vertex.reads[..] else { continue };
            let (read, source, good) = (Pending::of(vertex), good[0], good.clone());
            let eligible = |write| write == INITIAL || (write != event && !read.is_in(&self.events.get(write).past));
            let wide = good_writes(&self.events, &read, source, self.root, eligible);
            self.events.set_good(event, wide);
            narrow.push((event, good));
        }
        narrow
    }
}
