//! An event cut loose from the execution that it was seen in, as explorers keep it in wakeup trees and sleep sets.

use std::rc::Rc;

use super::{Event, Literal};
use crate::operation::{accesses_conflict, Accesses, Buffering, Choice, Operation, OperationKind, ThreadId};

#[derive(Clone, Debug)]
pub struct Step {
    pub thread: ThreadId,
    pub outcome: u32,
    pub operation: Operation,
    pub accesses: Accesses,
    /// Whether it can access anything: a turn of an event loop that was seen in other circumstances only.
    pub is_guess: bool,
}

impl Step {
    pub fn of(event: &Event) -> Step {
        Step {
            thread: event.thread,
            outcome: event.outcome,
            operation: event.operation,
            accesses: event.accesses.clone(),
            is_guess: false,
        }
    }

    pub fn choice(&self) -> Choice {
        Choice::of(self.thread, &self.operation, self.outcome)
    }

    /// The constraint that the step adds to the path condition, if it is a branch.
    pub fn literal(&self) -> Option<Literal> {
        let branches = self.operation.kind == OperationKind::Branch;
        branches.then_some(Literal { condition: self.operation.detail, taken: self.outcome != 0 })
    }

    /// Whether two adjacent steps cannot be swapped: one thread, a conflict, or one makes the other possible.
    pub fn depends(&self, other: &Step) -> bool {
        if self.thread == other.thread || self.is_guess || other.is_guess {
            return true;
        }
        if self.owner() == other.owner() {
            return self.depends_in_buffers(other);
        }
        accesses_conflict(&self.accesses, &other.accesses) || self.enables(other) || other.enables(self)
    }

    /// The same for a flush and another step of the thread that owns the buffer, or of another of its buffers. A load
    /// and a flush of its own thread do not conflict: it gets the same value from the buffer as from memory after.
    fn depends_in_buffers(&self, other: &Step) -> bool {
        use Buffering::*;
        match (self.operation.buffering, other.operation.buffering) {
            (Leaves { number, .. }, Enters { number: entered })
            | (Enters { number: entered }, Leaves { number, .. }) => number == entered,
            (Leaves { number, barrier, .. }, Leaves { number: later, barrier: bound, .. }) => {
                number <= bound || later <= barrier || accesses_conflict(&self.accesses, &other.accesses)
            }
            (first, second) => first == Drains || second == Drains,
        }
    }

    fn owner(&self) -> ThreadId {
        self.operation.owner(self.thread)
    }

    fn enables(&self, other: &Step) -> bool {
        (self.operation.kind == OperationKind::Spawn && self.operation.detail == other.thread.0)
            || (other.operation.kind == OperationKind::Join && other.operation.detail == self.owner().0)
    }

    /// Whether the step is one of several alternatives: of `operation.detail` values, or of the sides of a branch.
    pub fn draws(&self) -> bool {
        matches!(self.operation.kind, OperationKind::Choose | OperationKind::Branch)
    }

    /// How many alternatives a step that draws has, feasible or not.
    pub fn alternatives(&self) -> u32 {
        match self.operation.kind {
            OperationKind::Choose => self.operation.detail,
            OperationKind::Branch => 2,
            _ => 1,
        }
    }

    /// Whether both are the same thread taking the same alternative.
    pub fn same_choice(&self, other: &Step) -> bool {
        self.thread == other.thread && self.outcome == other.outcome
    }
}

/// The positions in `steps` of the steps that no other step of the sequence has to precede.
pub fn initials(steps: &[Rc<Step>]) -> impl Iterator<Item = usize> + '_ {
    (0..steps.len()).filter(|&position| steps[..position].iter().all(|earlier| !earlier.depends(&steps[position])))
}
