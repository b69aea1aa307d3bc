//! Follows a recorded schedule and says where the program no longer agrees with it.

use std::cell::Cell;
use std::rc::Rc;

use super::{Decision, End, Explorer, Finished, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::ThreadId;

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    pub thread: ThreadId,
    pub outcome: u32,
}

/// The first step at which the program and the schedule disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Counted from 0.
    pub step: usize,
    pub thread: ThreadId,
    pub reason: DivergenceReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceReason {
    /// The thread does not exist, has ended, or is blocked.
    CannotRun,
    /// The schedule ended before the program did.
    ScheduleEnded,
}

pub struct Replay {
    steps: Vec<ReplayStep>,
    /// The next step. Whoever records the execution moves it on if it is `shared`, else every event does.
    position: Rc<Cell<usize>>,
    shared: bool,
    divergence: Option<Divergence>,
    /// Whether to go on, preferring the current thread, once the schedule has ended.
    complete: bool,
}

impl Replay {
    /// Follow `steps`, one an event; then go on to the end if `complete`.
    pub fn new(steps: Vec<ReplayStep>, complete: bool) -> Replay {
        Replay { steps, position: Rc::default(), shared: false, divergence: None, complete }
    }

    /// Follow recorded operations, some of which are no events: `position` counts those that have been seen again,
    /// and the thread of the next one always runs.
    pub fn following(steps: Vec<ReplayStep>, position: Rc<Cell<usize>>) -> Replay {
        Replay { steps, position, shared: true, divergence: None, complete: true }
    }
}

impl Explorer for Replay {
    fn begin(&mut self) -> usize {
        0
    }

    fn choose(&mut self, state: &State) -> Decision {
        let Some(step) = self.steps.get(self.position.get()).copied() else {
            if self.complete {
                return match state.preferred(|_| true) {
                    Some(thread) => Decision::Take(state.choice(thread, state.outcomes(thread)[0])),
                    None => Decision::GiveUp,
                };
            }
            let thread = state.current.unwrap_or(ThreadId::MAIN);
            self.divergence =
                Some(Divergence { step: self.position.get(), thread, reason: DivergenceReason::ScheduleEnded });
            return Decision::GiveUp;
        };
        if !state.is_enabled(step.thread) || !state.outcomes(step.thread).contains(&step.outcome) {
            self.divergence = Some(Divergence {
                step: self.position.get(),
                thread: step.thread,
                reason: DivergenceReason::CannotRun,
            });
            return Decision::GiveUp;
        }
        Decision::Take(state.choice(step.thread, step.outcome))
    }

    fn performed(&mut self, _execution: &Execution) {
        if !self.shared {
            self.position.set(self.position.get() + 1);
        }
    }

    fn finish(&mut self, _execution: &Execution, _memory: &dyn MemoryModel, _end: End) -> Finished {
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        self.position.get() as f64 / self.steps.len().max(1) as f64
    }

    fn is_exhaustive(&self) -> bool {
        false
    }

    fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }
}
