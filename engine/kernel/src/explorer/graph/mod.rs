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

mod constraints;
mod options;
mod plan;
mod trace;
mod visit;

use plan::{Entry, Plan, Refreshed};
use trace::{Added, Deferred, Part, Trace};
use visit::Visit;

use super::{depth_first_fraction, Decision, End, Explorer, Finished, State};
use crate::execution::{Event, Execution};
use crate::memory::MemoryModel;
use crate::operation::{AccessMode, OperationKind};

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
    trace: Trace,
    /// The choices of the last execution.
    last: Vec<Entry>,
}

impl Graph {
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
            waiting: Vec::new(),
            plans: &mut plans,
        };
        for (position, refreshed) in self.plan.refreshed.iter().enumerate() {
            let id = self.trace.position(refreshed.thread.index(), refreshed.index);
            let later = &self.plan.refreshed[position + 1..];
            visit.added(execution.event(id), self.planned, refreshed.from, later);
        }
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
    fn begin(&mut self) -> usize {
        let shared = self
            .plan
            .entries
            .iter()
            .zip(&self.last)
            .take_while(|(new, old)| (new.thread, new.outcome) == (old.thread, old.outcome))
            .count();
        self.trace.truncate(shared);
        for (added, entry) in self.trace.added.iter_mut().zip(&self.plan.entries) {
            added.clone_from(&entry.added);
        }
        self.trace.firm.clone_from(&self.plan.firm);
        self.trace.deferred.clone_from(&self.plan.deferred);
        self.position = shared;
        self.planned = shared;
        shared
    }

    fn choose(&mut self, state: &State) -> Decision {
        while let Some(entry) = self.plan.entries.get(self.position) {
            let position = self.position;
            self.position += 1;
            if state.is_enabled(entry.thread) {
                self.planned += 1;
                self.added = Some(entry.added.clone());
                return Decision::Take(state.choice(entry.thread, entry.outcome));
            }
            match self.plan.revisited {
                Some((revisited, by)) if revisited == position => {
                    let entry = entry.clone();
                    self.defer(&entry, by);
                }
                _ => return Decision::GiveUp,
            }
        }
        match state.preferred(|_| true) {
            Some(thread) => Decision::Take(state.choice(thread, state.outcomes(thread)[0])),
            None => Decision::GiveUp,
        }
    }

    fn performed(&mut self, execution: &Execution) {
        let added = self.added.take().unwrap_or_else(|| {
            self.plan.next += 1;
            Added::at(self.plan.next - 1)
        });
        self.trace.append(execution, added);
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished {
        self.last.clear();
        self.last.extend(execution.events().iter().zip(&self.trace.added).map(|(event, added)| entry(event, added)));
        if let (End::Maximal, Some((revisited, by))) = (end, self.plan.revisited) {
            // With every thread blocked nobody was asked to choose any more.
            if revisited + 1 == self.plan.entries.len() && self.position == revisited {
                let entry = self.plan.entries[revisited].clone();
                self.defer(&entry, by);
            }
        }
        // An execution that the host has given up among the planned events is the last.
        let given_up = execution.len() < self.planned;
        let plans = if given_up { Vec::new() } else { self.plan_others(execution, memory, end) };
        self.frames.push(Frame { planned: plans.len(), plans });
        while let Some(frame) = self.frames.last_mut() {
            if let Some(plan) = frame.plans.pop() {
                self.plan = plan;
                return Finished { more: true, duplicate: false };
            }
            self.frames.pop();
        }
        Finished { more: false, duplicate: false }
    }

    /// Where a predicate would have held instead, and what it would have read there, no number tells.
    fn treats(&self, kind: OperationKind) -> bool {
        kind != OperationKind::WaitUntil
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.frames.iter().map(|frame| (frame.planned - frame.plans.len(), frame.planned + 1)))
    }
}

fn entry(event: &Event, added: &Added) -> Entry {
    Entry { thread: event.thread, index: event.index, outcome: event.outcome, added: added.clone() }
}
