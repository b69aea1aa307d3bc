//! Bounds on an exploration. A bound that is reached always makes the result incomplete.

use std::time::{Duration, Instant};

/// The bounds that the caller has set; `None` means without bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Visible operations in one execution.
    pub max_steps: Option<usize>,
    /// Explored executions, blocked and redundant ones included.
    pub max_executions: Option<u64>,
    /// Context switches away from a thread that could have gone on, in one execution.
    pub preemption_bound: Option<usize>,
    pub timeout: Option<Duration>,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    MaxSteps,
    MaxExecutions,
    Preemptions,
    Timeout,
    Cancelled,
}

impl Bound {
    pub fn name(self) -> &'static str {
        match self {
            Bound::MaxSteps => "max_steps",
            Bound::MaxExecutions => "max_executions",
            Bound::Preemptions => "preemption_bound",
            Bound::Timeout => "timeout",
            Bound::Cancelled => "cancelled",
        }
    }
}

/// Measures an exploration against its limits.
pub struct Meter {
    limits: Limits,
    started: Instant,
    /// The first bound that was reached.
    reached: Option<Bound>,
}

/// How many events pass between two looks at the clock within one execution.
const EVENTS_BETWEEN_CLOCK_READS: usize = 4096;

impl Meter {
    pub fn new(limits: Limits) -> Meter {
        Meter { limits, started: Instant::now(), reached: None }
    }

    pub fn reached(&self) -> Option<Bound> {
        self.reached
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn limits_preemptions(&self) -> bool {
        self.limits.preemption_bound.is_some()
    }

    pub fn reach(&mut self, bound: Bound) {
        self.reached.get_or_insert(bound);
    }

    /// Whether the caller, or the clock, wants the exploration to end at once.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.reached, Some(Bound::Cancelled | Bound::Timeout))
    }

    /// Whether an execution may go on after `steps` events and `preemptions` preemptions.
    pub fn allows_step(&mut self, steps: usize, preemptions: usize) -> bool {
        if self.limits.max_steps.is_some_and(|limit| steps >= limit) {
            self.reach(Bound::MaxSteps);
            return false;
        }
        if self.limits.preemption_bound.is_some_and(|limit| preemptions > limit) {
            self.reach(Bound::Preemptions);
            return false;
        }
        if steps % EVENTS_BETWEEN_CLOCK_READS == EVENTS_BETWEEN_CLOCK_READS - 1 && self.is_late() {
            self.reach(Bound::Timeout);
            return false;
        }
        true
    }

    /// Whether another execution may begin after `executions`.
    pub fn allows_execution(&mut self, executions: u64) -> bool {
        if self.is_interrupted() || self.reached == Some(Bound::MaxSteps) {
            return false;
        }
        if self.limits.max_executions.is_some_and(|limit| executions >= limit) {
            self.reach(Bound::MaxExecutions);
            return false;
        }
        if self.is_late() {
            self.reach(Bound::Timeout);
            return false;
        }
        true
    }

    fn is_late(&self) -> bool {
        self.limits.timeout.is_some_and(|timeout| self.started.elapsed() >= timeout)
    }
}
