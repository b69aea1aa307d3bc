//! Runs executions one after another: asks the explorer who goes next, performs operations on the memory model,
//! appends events, counts, and applies the limits.
//!
//! The driver is passive. Whoever runs the threads (a `Program` through `explore`, or the CPython host, whose control
//! flow is inverted) tells it when a thread arrives at an operation, asks `next_turn` who goes on, and calls `commit`
//! when a thread performs its operation. Going on with the same thread therefore switches nothing.

use smallvec::smallvec;

use crate::execution::{EpochTable, Event, Execution, Values};
use crate::explorer::{Decision, End, Explorer, Mismatch, Requirements, State};
use crate::limits::{Bound, Meter};
use crate::memory::{Effect, MemoryModel};
use crate::operation::{
    Access, AccessMode, Accesses, Buffering, Choice, EventId, LocationId, Operation, OperationKind, ThreadId,
};
use crate::threads::{PendingFootprint, Status, Threads};

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This thread performs its pending operation.
    Run(ThreadId),
    /// The agent of a store buffer performs its pending flush; no thread goes on by that.
    Flush(ThreadId),
    End(End),
}

/// The program behaved differently when the same choices were made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nondeterminism {
    pub step: usize,
    pub thread: ThreadId,
    pub expected: Option<Operation>,
    pub found: Option<Operation>,
}

/// Totals over all executions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub executions: u64,
    pub blocked: u64,
    pub redundant: u64,
    /// Executions that a bound cut off.
    pub cut: u64,
    pub events: u64,
}

impl Counts {
    /// The last execution was not cut off by a bound, but ended where it failed.
    pub fn count_failed(&mut self) {
        self.cut -= 1;
        self.executions += 1;
    }

    pub fn total(&self) -> u64 {
        self.executions + self.blocked + self.redundant + self.cut
    }
}

/// How the last execution ended.
#[derive(Clone, Debug)]
pub struct Summary {
    pub end: End,
    /// Threads that wait for ever, except daemons and threads that a failed assumption stopped.
    pub waiting: Vec<ThreadId>,
    /// Whether a failed assumption stopped a thread.
    pub assumption_failed: bool,
    /// Whether the explorer has another execution.
    pub more: bool,
}

pub struct Driver {
    pub execution: Execution,
    pub threads: Threads,
    pub memory: Box<dyn MemoryModel>,
    pub epochs: EpochTable,
    pub meter: Meter,
    pub counts: Counts,
    explorer: Box<dyn Explorer>,
    /// How many events the current execution shares with the last one.
    kept: usize,
    /// Events performed so far in the current execution.
    position: usize,
    /// The thread of the last event.
    last_actor: Option<ThreadId>,
    preemptions: usize,
    outcome: u32,
    reads: Option<EventId>,
    fault: Option<Nondeterminism>,
    requirements: Requirements,
}

impl Driver {
    pub fn new(explorer: Box<dyn Explorer>, memory: Box<dyn MemoryModel>, meter: Meter) -> Driver {
        let mut execution = Execution::default();
        let requirements = explorer.requirements();
        execution.order_by_program_only(requirements.wants_values);
        execution.separate_structure(memory.chooses_reads());
        Driver {
            execution,
            threads: Threads::default(),
            memory,
            epochs: EpochTable::default(),
            meter,
            counts: Counts::default(),
            requirements,
            explorer,
            kept: 0,
            position: 0,
            last_actor: None,
            preemptions: 0,
            outcome: 0,
            reads: None,
            fault: None,
        }
    }

    pub fn explorer(&self) -> &dyn Explorer {
        &*self.explorer
    }

    pub fn explorer_mut(&mut self) -> &mut dyn Explorer {
        &mut *self.explorer
    }

    /// Forget everything explored and begin anew with another explorer.
    pub fn restart(&mut self, explorer: Box<dyn Explorer>) {
        self.execution.truncate(0);
        self.requirements = explorer.requirements();
        self.execution.order_by_program_only(self.requirements.wants_values);
        self.explorer = explorer;
        self.counts = Counts::default();
        self.fault = None;
    }

    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether the event that comes next is one of the last execution, known already.
    pub fn repeats_next(&self) -> bool {
        self.position < self.kept
    }

    pub fn fault(&self) -> Option<Nondeterminism> {
        self.fault
    }

    /// Begin an execution: `main` exists and runs.
    pub fn begin_execution(&mut self) {
        self.kept = self.explorer.begin();
        self.execution.truncate(self.kept);
        self.position = 0;
        self.last_actor = None;
        self.preemptions = 0;
        self.memory.reset();
        self.epochs.begin_execution(self.memory.buffers_stores());
        self.threads.reset();
        self.threads.add(ThreadId::MAIN, EventId::NONE, false);
        self.threads.get_mut(ThreadId::MAIN).status = Status::Running;
    }

    /// A running thread has come to a visible operation with `alternatives` possible outcomes.
    pub fn arrive(&mut self, thread: ThreadId, operation: Operation, alternatives: u32) {
        let buffering = self.memory.buffering(thread, &operation);
        let state = self.threads.get_mut(thread);
        state.status = Status::Pending;
        state.pending = Operation { buffering, ..operation };
        state.alternatives = alternatives;
    }

    /// What a thread that has arrived is about to access, if the explorer wants to know.
    pub fn note_footprint(&mut self, thread: ThreadId, footprint: PendingFootprint) {
        self.threads.get_mut(thread).footprint = footprint;
    }

    /// What the explorer takes for granted.
    pub fn requirements(&self) -> Requirements {
        self.requirements
    }

    /// Whether the explorer asks for `note_footprint` and `note_values`.
    pub fn wants_values(&self) -> bool {
        self.requirements.wants_values
    }

    /// What the last event left, if it is an operation on data.
    pub fn note_left(&mut self, left: Option<u32>) {
        let id = EventId(self.position as u32 - 1);
        let found = self.execution.event(id).values.found;
        self.execution.set_values(id, Values { found, left });
    }

    /// The values that the last event found and left, if it is an operation on data.
    pub fn note_values(&mut self, values: Values) {
        self.execution.set_values(EventId(self.position as u32 - 1), values);
    }

    /// Decide who acts next. Every thread is at a visible operation or has ended.
    pub fn next_turn(&mut self) -> Turn {
        let choice = if self.position < self.kept {
            let event = &self.execution.events()[self.position];
            if !self.threads.is_enabled(event.thread, &*self.memory) {
                self.fault = Some(Nondeterminism {
                    step: self.position,
                    thread: event.thread,
                    expected: Some(event.operation),
                    found: self.threads.pending(event.thread).copied(),
                });
                return Turn::End(End::Cut);
            }
            event.choice()
        } else {
            let state = State {
                execution: &self.execution,
                threads: &self.threads,
                memory: &*self.memory,
                current: self.last_actor,
            };
            if state.enabled().next().is_none() {
                return Turn::End(End::Maximal);
            }
            match self.explorer.choose(&state) {
                Decision::Take(choice) => choice,
                Decision::GiveUp => return Turn::End(End::Redundant),
                Decision::Differs(Mismatch { thread, expected }) => {
                    self.fault = Some(Nondeterminism {
                        step: self.position,
                        thread,
                        expected: Some(expected),
                        found: self.threads.pending(thread).copied(),
                    });
                    return Turn::End(End::Cut);
                }
            }
        };
        let thread = choice.thread();
        let flushes = self.threads.get(thread).pending.is_flush();
        if !flushes && self.meter.limits_preemptions() {
            if let Some(last) = self.last_actor {
                if last != thread && self.threads.is_enabled(last, &*self.memory) {
                    self.preemptions += 1;
                }
            }
        }
        if !self.meter.allows_step(self.position, self.preemptions) {
            return Turn::End(End::Cut);
        }
        self.outcome = choice.outcome();
        self.reads = match choice {
            Choice::ReadFrom { write, .. } => Some(write),
            Choice::Step { .. } | Choice::Branch { .. } => None,
        };
        if flushes {
            Turn::Flush(thread)
        } else {
            Turn::Run(thread)
        }
    }

    /// The alternative that the thread chosen by the last `next_turn` gets.
    pub fn outcome(&self) -> u32 {
        self.outcome
    }

    /// The write that the operation chosen by the last `next_turn` reads from, `EventId::NONE` for the initial value;
    /// None where it reads what memory holds.
    pub fn reads(&self) -> Option<EventId> {
        self.reads
    }

    /// The chosen thread performs its pending operation. `accesses` are what it accesses, if the caller knows better
    /// than the memory model; `before` likewise replaces the state token of its primary location.
    pub fn commit(
        &mut self,
        thread: ThreadId,
        accesses: Option<Accesses>,
        before: Option<u32>,
    ) -> Result<Effect, Nondeterminism> {
        let id = EventId(self.position as u32);
        let state = self.threads.get(thread);
        let operation = state.pending;
        let (alternatives, index, last) = (state.alternatives, state.events, state.last);
        if self.position < self.kept {
            let event = &self.execution.events()[self.position];
            if event.thread != thread || event.operation != operation {
                let fault = Nondeterminism {
                    step: self.position,
                    thread,
                    expected: Some(event.operation),
                    found: Some(operation),
                };
                self.fault = Some(fault);
                return Err(fault);
            }
        } else {
            let joined = match operation.kind {
                OperationKind::Join => self.threads.get(ThreadId(operation.detail)).last,
                _ => EventId::NONE,
            };
            let mut awaited = self.memory.awaited(thread, &operation);
            awaited.extend(self.reads.filter(|write| *write != EventId::NONE));
            match operation.kind {
                OperationKind::Turn => awaited.extend_from_slice(self.execution.turns().enablers(thread)),
                OperationKind::Complete => {
                    for mode in [AccessMode::IntentWrite, AccessMode::Write] {
                        awaited.extend_from_slice(self.execution.accessing(operation.target, mode));
                    }
                }
                _ => {}
            }
            let event = Event {
                id,
                thread,
                index,
                operation,
                outcome: self.outcome,
                accesses: match accesses {
                    _ if self.memory.is_relaxed(&operation) => Accesses::new(),
                    Some(accesses) => accesses,
                    None => self.memory.accesses(thread, &operation),
                },
                program_order: last,
                joined,
                awaited,
                enabler: self.memory.primitives().enabler(thread, &operation),
                before: before.unwrap_or_else(|| self.memory.state_token(&operation)),
                reads: self.reads,
                alternatives,
                values: Values::default(),
            };
            self.execution.append(event);
            self.explorer.performed(&self.execution);
        }
        let effect = if self.requirements.wants_values {
            let is_primitive = self.memory.primitives().get(operation.target).is_some();
            let found = is_primitive.then(|| self.memory.state_token(&operation));
            let effect = self.memory.perform(thread, &operation, id);
            let left = is_primitive.then(|| self.memory.state_token(&operation));
            self.execution.set_values(id, Values { found, left });
            effect
        } else {
            self.memory.perform(thread, &operation, id)
        };
        self.position += 1;
        let state = self.threads.get_mut(thread);
        state.last = id;
        state.events += 1;
        state.status = Status::Running;
        match operation.kind {
            OperationKind::Flush => self.threads.set_agent(thread, self.memory.next_flush(thread)),
            OperationKind::Buffer => {
                let agent = ThreadId(operation.detail);
                self.threads.set_agent(agent, self.memory.next_flush(agent));
                self.last_actor = Some(thread);
            }
            _ => {
                if operation.buffering == Buffering::Drains {
                    self.epochs.note_drain(thread, index);
                }
                self.last_actor = Some(thread);
            }
        }
        Ok(effect)
    }

    /// Whether all other threads have ended and `thread` comes after their ends by the code alone, whatever the
    /// schedule is.
    pub fn has_joined_all(&self, thread: ThreadId) -> bool {
        if self.threads.alive() != [thread] {
            return false;
        }
        let last = self.threads.get(thread).last;
        let is_joined = |other: ThreadId| {
            self.execution.events().iter().any(|event| {
                let operation = &event.operation;
                operation.kind == OperationKind::Join
                    && operation.detail == other.0
                    && self.execution.follows_by_code(event.id, last)
            })
        };
        self.threads.ids().all(|other| other == thread || is_joined(other))
    }

    /// Note an access that is no event. Returns true if it races.
    #[inline]
    pub fn quiet_access(&mut self, thread: ThreadId, location: LocationId, mode: AccessMode) -> bool {
        let state = self.threads.get(thread);
        let (count, last) = (state.events, state.last);
        self.epochs.access(location, mode, thread, count, last, self.execution.structural_clocks())
    }

    /// Note that the thread's last event stands for such an access as well. Returns true if that races with another one
    /// noted so. Who comes structurally after the event comes after the access.
    pub fn event_access(&mut self, thread: ThreadId, location: LocationId, mode: AccessMode) -> bool {
        let state = self.threads.get(thread);
        let (count, last) = (state.events.saturating_sub(1), state.last);
        self.epochs.access(location, mode, thread, count, last, self.execution.structural_clocks())
    }

    /// Perform an operation on a primitive that is no event.
    pub fn quiet_perform(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        self.memory.perform(thread, operation, EventId(self.position as u32))
    }

    /// End the current execution, count it, and learn from it.
    pub fn end_execution(&mut self, end: End) -> Summary {
        let mut waiting = Vec::new();
        let mut assumption_failed = false;
        for &thread in self.threads.alive() {
            let state = self.threads.get(thread);
            match state.status {
                Status::Stopped => assumption_failed = true,
                Status::Pending if !state.daemon => waiting.push(thread),
                _ => {}
            }
        }
        if self.fault.is_some() {
            return Summary { end, waiting, assumption_failed, more: false };
        }
        if end == End::Cut && self.meter.is_interrupted() {
            if let Some(explorer) = self.explorer.splitting() {
                explorer.interrupted();
            }
            self.counts.cut += 1;
            return Summary { end, waiting, assumption_failed, more: false };
        }
        self.note_blocked_threads();
        self.counts.events += self.position as u64;
        let finished = self.explorer.finish(&self.execution, &*self.memory, end);
        match end {
            _ if finished.duplicate => self.counts.redundant += 1,
            End::Redundant => self.counts.redundant += 1,
            End::Cut => self.counts.cut += 1,
            End::Maximal if waiting.is_empty() && !assumption_failed => self.counts.executions += 1,
            End::Maximal => self.counts.blocked += 1,
        }
        let more = finished.more && self.meter.allows_execution(self.counts.total());
        Summary { end, waiting, assumption_failed, more }
    }

    /// A thread waits for ever for a predicate that reads `accesses`; it held before each of `firsts`, where it read
    /// what is given there.
    pub fn note_blocked_predicate(&mut self, thread: ThreadId, accesses: Accesses, firsts: Vec<(EventId, Accesses)>) {
        let state = self.threads.get(thread);
        self.execution.note_blocked(Event {
            id: EventId::NONE,
            thread,
            index: state.events,
            operation: state.pending,
            outcome: 0,
            accesses,
            program_order: state.last,
            joined: EventId::NONE,
            awaited: self.memory.awaited(thread, &state.pending),
            enabler: EventId::NONE,
            before: 0,
            reads: None,
            alternatives: 1,
            values: Values::default(),
        });
        self.execution.add_races(firsts);
    }

    /// Whether the last commit appended an event (rather than repeating one).
    pub fn is_fresh(&self) -> bool {
        self.position > self.kept
    }

    fn note_blocked_threads(&mut self) {
        let memory = &*self.memory;
        for &thread in self.threads.alive() {
            let state = self.threads.get(thread);
            let operation = state.pending;
            if state.status != Status::Pending || !operation.may_block() || self.threads.is_enabled(thread, memory) {
                continue;
            }
            if !memory.is_drained(thread) {
                // It waits for its own stores and nothing else: the execution was cut off before they left.
                continue;
            }
            let enabler = memory.primitives().enabler(thread, &operation);
            let asleep = match operation.kind {
                // The races of a wait for a predicate are added by who can evaluate it.
                OperationKind::Join | OperationKind::Blocked | OperationKind::WaitUntil => true,
                // What is left when the loop has not ended may still be over.
                OperationKind::Turn => !self.threads.is_finished(ThreadId::MAIN),
                OperationKind::Wake => enabler == EventId::NONE,
                OperationKind::FlagWait => {
                    enabler == EventId::NONE && memory.primitives().waiter(operation.target, thread).is_some()
                }
                _ => false,
            };
            if asleep {
                continue;
            }
            self.execution.note_blocked(Event {
                id: EventId::NONE,
                thread,
                index: state.events,
                operation,
                outcome: 0,
                accesses: match operation.kind {
                    OperationKind::Turn => {
                        smallvec![Access { location: operation.target, mode: AccessMode::Write }]
                    }
                    _ => memory.accesses(thread, &operation),
                },
                program_order: state.last,
                joined: EventId::NONE,
                awaited: memory.awaited(thread, &operation),
                enabler,
                before: memory.state_token(&operation),
                reads: None,
                alternatives: 1,
                values: Values::default(),
            });
        }
    }

    /// Stop for a reason outside the exploration.
    pub fn cancel(&mut self) {
        self.meter.reach(Bound::Cancelled);
    }
}
