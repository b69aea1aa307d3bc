//! Follows a recorded schedule and says where the program no longer agrees with it.

use std::cell::Cell;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::{Decision, End, Explorer, Findings, Finished, Requirements, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::{Buffering, Choice, EventId, LocationId, Operation, OperationKind, ThreadId};

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    pub thread: ThreadId,
    /// What was drawn; or for an operation with a reads-from choice that write, see `number_of_source`.
    pub outcome: u32,
    /// If the step is the flush of a store of the thread: the store's number.
    pub flush: Option<u32>,
}

/// The write that an operation reads from as the outcome of a step: 0 for what memory holds, 1 for the initial value,
/// the number of the event and 2 for a write.
pub fn number_of_source(reads: Option<EventId>) -> u32 {
    match reads {
        None => 0,
        Some(EventId::NONE) => 1,
        Some(write) => write.0 + 2,
    }
}

fn source_of_number(number: u32) -> Option<EventId> {
    match number {
        0 => None,
        1 => Some(EventId::NONE),
        number => Some(EventId(number - 2)),
    }
}

impl ReplayStep {
    /// Who takes the step: the thread, or the agent of the store buffer that holds the store.
    fn actor(&self, state: &State) -> Option<ThreadId> {
        let Some(flushed) = self.flush else { return Some(self.thread) };
        let mut agents = state.threads.alive().iter().copied();
        agents.find(|agent| match state.pending(*agent).map(|operation| operation.buffering) {
            Some(Buffering::Leaves { owner, number, .. }) => owner == self.thread && number == flushed,
            _ => false,
        })
    }
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
    sections: Option<RepeatedSections>,
}

/// The steps are those of an exploration in which critical sections are one step each, from taking a lock to giving it
/// back, but for those of ordinary locks.
struct RepeatedSections {
    ordinary: FxHashSet<LocationId>,
    /// The thread that is in a section, and its lock.
    inside: Option<(ThreadId, LocationId)>,
    /// Whether the next event is part of the step before.
    goes_on: bool,
}

impl RepeatedSections {
    /// The thread that has to go on, as it is in a section.
    fn thread_inside(&mut self, state: &State) -> Option<ThreadId> {
        let holds = |(thread, lock): &(ThreadId, LocationId)| {
            state.memory.primitives().owner(*lock) == Some(*thread) && state.is_enabled(*thread)
        };
        self.inside = self.inside.filter(holds);
        self.goes_on = self.inside.is_some();
        self.inside.map(|(thread, _)| thread)
    }

    /// A thread takes the next step.
    fn note_step(&mut self, thread: ThreadId, operation: &Operation) {
        if operation.kind == OperationKind::Acquire && !self.ordinary.contains(&operation.target) {
            self.inside = Some((thread, operation.target));
        }
    }
}

impl Replay {
    /// Follow `steps`, one an event; then go on to the end if `complete`.
    pub fn new(steps: Vec<ReplayStep>, complete: bool) -> Replay {
        Replay { steps, position: Rc::default(), shared: false, divergence: None, complete, sections: None }
    }

    /// Follow steps that are critical sections, but for those of `ordinary` locks.
    pub fn of_sections(self, ordinary: FxHashSet<LocationId>) -> Replay {
        Replay { sections: Some(RepeatedSections { ordinary, inside: None, goes_on: false }), ..self }
    }

    /// Follow recorded operations, some of which are no events: `position` counts those that have been seen again,
    /// and the thread of the next one always runs.
    pub fn following(steps: Vec<ReplayStep>, position: Rc<Cell<usize>>) -> Replay {
        Replay { steps, position, shared: true, divergence: None, complete: true, sections: None }
    }

    /// Whether there is no such event (yet), so that nothing can be read from it.
    fn is_ahead(&self, state: &State, write: EventId) -> bool {
        write != EventId::NONE && write.index() >= state.execution.len()
    }
}

impl Explorer for Replay {
    fn requirements(&self) -> Requirements {
        Requirements { is_exhaustive: false, ..Requirements::OF_EVENTS }
    }

    fn findings(&self) -> Findings<'_> {
        Findings { divergence: self.divergence.as_ref(), ..Findings::default() }
    }

    fn begin(&mut self) -> usize {
        0
    }

    fn choose(&mut self, state: &State) -> Decision {
        let decision = match self.sections.as_mut().and_then(|sections| sections.thread_inside(state)) {
            Some(thread) => return Decision::Take(state.choice(thread, state.outcomes(thread)[0])),
            None => self.choose_step(state),
        };
        if let (Decision::Take(choice), Some(sections)) = (&decision, &mut self.sections) {
            if let Some(operation) = state.pending(choice.thread()) {
                sections.note_step(choice.thread(), operation);
            }
        }
        decision
    }

    fn performed(&mut self, _execution: &Execution) {
        let goes_on = self.sections.as_ref().is_some_and(|sections| sections.goes_on);
        if !self.shared && !goes_on {
            self.position.set(self.position.get() + 1);
        }
    }

    fn finish(&mut self, _execution: &Execution, _memory: &dyn MemoryModel, _end: End) -> Finished {
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        self.position.get() as f64 / self.steps.len().max(1) as f64
    }
}

impl Replay {
    fn choose_step(&mut self, state: &State) -> Decision {
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
        let actor = step.actor(state).filter(|actor| state.is_enabled(*actor));
        if let Some((thread, pending)) = actor.and_then(|actor| Some((actor, state.pending(actor)?))) {
            if state.memory.is_relaxed(pending) && pending.kind != OperationKind::Store {
                return match source_of_number(step.outcome).filter(|write| !self.is_ahead(state, *write)) {
                    Some(write) => Decision::Take(Choice::ReadFrom { thread, write }),
                    None => Decision::Take(Choice::step(thread)),
                };
            }
        }
        // Where recorded operations are followed, the number of a buffered store says what it was and chooses nothing.
        let chooses = |actor: &ThreadId| !self.shared || state.alternatives(*actor) > 1;
        let outcome = actor.filter(chooses).map_or(0, |_| step.outcome);
        match actor.filter(|actor| state.outcomes(*actor).contains(&outcome)) {
            Some(thread) => Decision::Take(state.choice(thread, outcome)),
            None => {
                self.divergence = Some(Divergence {
                    step: self.position.get(),
                    thread: step.thread,
                    reason: DivergenceReason::CannotRun,
                });
                Decision::GiveUp
            }
        }
    }
}
