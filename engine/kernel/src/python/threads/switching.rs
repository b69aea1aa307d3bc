//! Running every model thread as a greenlet of one OS thread, and handing control where the driver says.
//!
//! Control flow is inverted: a thread that comes to a visible operation asks the driver itself, and nothing is
//! switched when it may go on.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::smallvec;

use crate::driver::Turn;
use crate::execution::Values;
use crate::explorer::End;
use crate::memory::Effect;
use crate::operation::{AccessMode, Accesses, Operation, OperationKind, ThreadId};
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::explore::refusals::Refusal;
use crate::python::host::{require_host, Abort, Host};
use crate::python::state::{access, Phase, State};
use crate::python::threads::predicates::{reads_in_predicates, what_it_does};
use crate::python::threads::run::Failure;
use crate::threads::PendingFootprint;

/// So many times what destructors have met is let go.
const ROUNDS: usize = 100;

/// What an operation accesses and the state token of its primary location, computed just before it is performed.
#[derive(Default)]
pub struct Footprint {
    pub accesses: Option<Accesses>,
    pub before: Option<u32>,
    /// The equality token of the value at the primary location, for explorers that ask for values.
    pub found: Option<u32>,
}

impl Footprint {
    pub fn of(accesses: Accesses) -> Footprint {
        Footprint { accesses: Some(accesses), before: None, found: None }
    }
}

impl Host {
    /// The running thread performs a visible operation. Returns when it has been chosen and the operation has been
    /// performed on the memory model; the caller then carries out the effect on the values.
    pub fn perform(
        &self,
        py: Python<'_>,
        operation: Operation,
        alternatives: u32,
        footprint: impl Fn(&mut State) -> Footprint,
    ) -> PyResult<Effect> {
        if !reads_in_predicates(operation.kind) {
            self.only_outside_predicates(py, what_it_does(operation.kind))?;
        }
        let contradicts = {
            let mut state = self.state();
            if state.waits.sections.is_open() && state.phase == Phase::Running {
                drop(state);
                return self.perform_in_section(py, &operation, alternatives, &footprint);
            }
            state.contradicts_sections(&operation)
        };
        if contradicts {
            return self.leave(py, End::Cut);
        }
        self.come_to(py, operation, alternatives, &footprint)?;
        if self.state().heap.reads.enabled {
            self.settle(py, &operation)?;
        }
        let mut state = self.state();
        let mut footprint = footprint(&mut state);
        state.order_joint_writes(&operation, &mut footprint);
        let current = state.current;
        match state.driver.commit(current, footprint.accesses, footprint.before) {
            Ok(effect) => {
                if let (true, Some(found)) = (state.driver.wants_values(), footprint.found) {
                    // What it leaves is noted once the operation has been carried out.
                    state.driver.note_values(Values { found: Some(found), left: None });
                }
                state.synchronise(&operation);
                state.note_fencing(&operation);
                state.note_event_in_loops(&operation);
                state.note_event_in_clocks(&operation);
                state.remember_event(&operation);
                let replaced = state.replaced_before_drain(current);
                drop(state);
                drop(replaced);
                Ok(effect)
            }
            Err(_) => {
                drop(state);
                self.leave(py, End::Cut)
            }
        }
    }

    /// The running thread comes to a visible operation. Returns when it has been chosen to perform it.
    pub fn come_to(
        &self,
        py: Python<'_>,
        operation: Operation,
        alternatives: u32,
        footprint: &impl Fn(&mut State) -> Footprint,
    ) -> PyResult<()> {
        self.wait_in_pool(py, &operation)?;
        self.tell_owed(py);
        let turn = {
            let mut state = self.state();
            match state.phase {
                Phase::Running | Phase::Probing => {}
                Phase::Unwinding | Phase::Releasing | Phase::Idle => return Err(Self::aborted()),
            }
            if !state.do_without_turns()
                || state.given_up()
                || state.run.halted
                || matches!(
                    state.exploration.learning.restart(),
                    Some(Restart::ModuleState | Restart::Rebound | Restart::Library)
                )
            {
                Turn::End(End::Cut)
            } else {
                let current = state.current;
                state.driver.arrive(current, operation, alternatives);
                if state.driver.wants_values() {
                    let mut footprint = footprint(&mut state);
                    state.order_joint_writes(&operation, &mut footprint);
                    let Footprint { accesses, found, .. } = footprint;
                    let footprint = PendingFootprint { accesses: accesses.unwrap_or_default(), found };
                    state.driver.note_footprint(current, footprint);
                }
                if state.driver.threads.waits_for_predicates() {
                    drop(state);
                    self.evaluate_predicates(py)?;
                    state = self.state();
                }
                if state.exploration.refusals.any() {
                    Turn::End(End::Cut)
                } else {
                    state.driver.next_turn()
                }
            }
        };
        if operation.kind == OperationKind::Branch {
            self.note_early_branch(py)?;
        }
        self.take_turn(py, turn)
    }

    /// Before the running thread gives others a turn: tell the recorder what it has done.
    #[inline]
    pub fn tell_owed(&self, py: Python<'_>) {
        if self.is_recording() {
            let current = self.state().current;
            self.tell_untold(py, current, false);
        }
    }

    /// Give control to whoever has the turn; returns when the running thread has it again.
    #[inline]
    pub fn take_turn(&self, py: Python<'_>, turn: Turn) -> PyResult<()> {
        match self.flush_until_turn(py, turn)? {
            Ok(next) => {
                let me = self.state().current;
                if next != me {
                    self.switch_to(py, next)?;
                    if self.state().phase == Phase::Unwinding {
                        return Err(Self::aborted());
                    }
                }
                Ok(())
            }
            Err(end) => self.leave(py, end),
        }
    }

    /// End the execution from inside a model thread. Never returns normally: the thread is unwound.
    pub fn leave<T>(&self, py: Python<'_>, end: End) -> PyResult<T> {
        let hub = {
            let mut state = self.state();
            state.run.ended = Some(end);
            state.note_difference(py);
            state.greenlets.hub(py)
        };
        if let Some(hub) = hub {
            self.greenlets.switch(py, &hub)?;
        }
        Err(Self::aborted())
    }

    fn switch_to(&self, py: Python<'_>, thread: ThreadId) -> PyResult<()> {
        let target = {
            let mut state = self.state();
            state.current = thread;
            if state.thread(thread).greenlet.is_none() {
                if let Some(idle) = state.greenlets.idle.pop() {
                    state.thread(thread).greenlet = Some(idle);
                }
            }
            state.thread(thread).greenlet.as_ref().map(|greenlet| greenlet.clone_ref(py))
        };
        let target = match target {
            Some(target) => target,
            None => {
                let host = require_host(py)?;
                let run = host.bind(py).getattr("_run_threads")?;
                let hub = self.state().greenlets.hub(py);
                let hub = hub.ok_or_else(|| PyRuntimeError::new_err("no exploration is running"))?;
                let created = self.greenlets.create(py, &run, &hub)?;
                self.state().thread(thread).greenlet = Some(created.clone_ref(py));
                created
            }
        };
        self.greenlets.switch(py, &target)
    }

    /// Run the code of the thread that was just given control, to its end.
    fn run_thread(&self, py: Python<'_>) {
        let (thread, target) = {
            let mut state = self.state();
            let current = state.current;
            (current, state.thread(current).target.take())
        };
        if thread != ThreadId::MAIN && !self.start_thread(py) {
            return;
        }
        let Some(target) = target else { return };
        let raised = match target.call0(py) {
            Ok(_) => false,
            Err(error) if error.is_instance_of::<Abort>(py) => return,
            Err(error) => {
                self.record_failure(py, thread, error);
                true
            }
        };
        if !self.end_in_section(py, raised) {
            return;
        }
        if self.state().phase == Phase::Running {
            if thread == ThreadId::MAIN {
                self.state().end_last_turn();
            }
            self.announce_end(py, thread);
        }
        self.tell_owed(py);
    }

    /// Perform the start of the current thread; false if the execution is over.
    fn start_thread(&self, py: Python<'_>) -> bool {
        let committed = {
            let mut state = self.state();
            let current = state.current;
            state.driver.commit(current, None, None)
        };
        match committed {
            Ok(_) => {
                let current = self.state().current;
                let object = self.thread_object(py, current);
                self.note(py, Word::Start, object.as_ref().map(|o| o.bind(py)), None, None, true);
                true
            }
            Err(_) => {
                let mut state = self.state();
                state.run.ended = Some(End::Cut);
                false
            }
        }
    }

    /// The end of a thread is visible to those who ask whether it is alive.
    fn announce_end(&self, py: Python<'_>, thread: ThreadId) {
        // Whoever learns of the end through a join waits for what the thread has stored.
        let chooses = self.state().heap.reads.enabled;
        if !chooses && self.drain_if_owed(py).is_err() {
            return;
        }
        let location = self.thread_location(thread);
        let visible = {
            let mut state = self.state();
            let footprint = [access(location, AccessMode::Write)];
            if state.is_visible(location) {
                true
            } else {
                state.quiet(&footprint);
                false
            }
        };
        if visible {
            let operation = Operation::new(OperationKind::End, location, thread.0);
            let performed =
                self.perform(py, operation, 1, |_| Footprint::of(smallvec![access(location, AccessMode::Write)]));
            if performed.is_err() {
                return;
            }
        }
        let object = self.thread_object(py, thread);
        self.note(py, Word::End, object.as_ref().map(|o| o.bind(py)), None, None, visible);
    }

    pub fn record_failure(&self, py: Python<'_>, thread: ThreadId, error: PyErr) {
        let mut state = self.state();
        if state.phase == Phase::Running {
            state.run.failures.push(Failure { thread, exception: error.into_value(py).into_any() });
        }
    }

    /// The life of a pooled greenlet: run threads one after another.
    fn run_threads(&self, py: Python<'_>) -> PyResult<()> {
        while !self.state().greenlets.closing {
            let thread = self.state().current;
            self.run_thread(py);
            let next = {
                let mut state = self.state();
                let own = state.thread(thread).greenlet.take();
                state.greenlets.idle.extend(own);
                if state.phase == Phase::Running {
                    state.driver.threads.finish(thread);
                    let stop = state.run.ended.is_some()
                        || state.given_up()
                        || state.run.halted
                        || (state.exploration.settings.stop_at_failure && !state.run.failures.is_empty());
                    if stop {
                        Turn::End(End::Cut)
                    } else {
                        if state.driver.threads.waits_for_predicates() {
                            drop(state);
                            self.evaluate_predicates(py)?;
                            state = self.state();
                        }
                        state.driver.next_turn()
                    }
                } else {
                    Turn::End(End::Cut)
                }
            };
            match self.flush_until_turn(py, next)? {
                Ok(next) => self.switch_to(py, next)?,
                Err(end) => {
                    let hub = {
                        let mut state = self.state();
                        if state.phase == Phase::Running {
                            state.run.ended.get_or_insert(end);
                        }
                        state.greenlets.hub(py)
                    };
                    match hub {
                        Some(hub) => self.greenlets.switch(py, &hub)?,
                        None => return Ok(()),
                    }
                }
            }
        }
        Ok(())
    }

    /// Run one execution from the hub. Returns how it ended.
    pub fn run_execution(&self, py: Python<'_>, main: &Py<PyAny>, main_thread: &Py<PyAny>) -> PyResult<End> {
        let hub = self.greenlets.current(py)?;
        self.restore(py, || Ok(()))?;
        {
            let mut state = self.state();
            state.greenlets.hub = Some(hub);
            state.run.begin();
            state.exploration.recording.steps.set(0);
            state.exploration.races.begin();
            state.waits.primitives.begin();
            state.waits.clocks.begin_execution();
            state.waits.turns.begin_execution();
            state.waits.sections.begin_execution();
            state.contents.instance_dicts.begin_execution();
            state.waits.predicates.own_objects.clear();
            state.identities.begin_execution();
            state.waits.spins.begin();
            state.exploration.symbolic.early.clear();
            for thread in &mut state.threads {
                thread.time = 0.0;
                thread.builtin_calls = 0;
                thread.looks = false;
                thread.untold.clear();
            }
            if state.exploration.settings.fresh_modules {
                state.types.forget();
            }
            state.run.number += 1;
            state.driver.begin_execution();
            if !state.exploration.settings.fresh_modules {
                state.make_imported();
            }
            state.phase = Phase::Running;
            state.current = ThreadId::MAIN;
            let entry = state.thread(ThreadId::MAIN);
            entry.object = Some(main_thread.clone_ref(py));
            entry.target = Some(main.clone_ref(py));
        }
        let below = self.uncounted.made_before();
        self.do_not_count(py, below);
        let ended = self.run_to_the_end(py);
        self.do_not_count(py, -below);
        ended
    }

    fn run_to_the_end(&self, py: Python<'_>) -> PyResult<End> {
        let switched = self.switch_to(py, ThreadId::MAIN);
        let end = self.state().run.ended.unwrap_or(End::Cut);
        if self.state().driver.threads.waits_for_predicates() {
            self.note_blocked_predicates(py)?;
        }
        // An execution that was cut off left its threads where they were; nobody waits for ever.
        if end == End::Maximal {
            self.report_blocked(py)?;
        }
        self.unwind(py)?;
        switched?;
        Ok(end)
    }

    /// Between executions: let go of what the last one made, then `collect` what nobody reaches, and put back what was
    /// changed of objects that last. Destructors are code of the model, and what they change is put back like all else.
    pub fn restore(&self, py: Python<'_>, collect: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
        {
            let mut state = self.state();
            state.phase = Phase::Releasing;
            state.current = ThreadId::MAIN;
        }
        let collected = self.woken(|| {
            self.release_objects();
            let collected = collect();
            // What hooks in destructors have met, again and again, but not for ever.
            for _ in 0..ROUNDS {
                if !self.state().objects.keeps_any() {
                    break;
                }
                self.release_objects();
            }
            collected
        });
        let endless = self.state().objects.keeps_any();
        self.state().phase = Phase::Idle;
        collected?;
        if endless {
            self.asleep(|| self.release_objects());
            let what = "has destructors that make objects with destructors without end".to_owned();
            self.state().exploration.refusals.add(Refusal::Uncontrolled(what));
        }
        self.asleep(|| self.put_originals_back(py))
    }

    /// Drop what the last execution left behind, without a borrow.
    fn release_objects(&self) {
        let mut threads = Vec::new();
        let mut loops = Vec::new();
        let mut open = Vec::new();
        let undo = std::mem::take(&mut self.state().heap.undo);
        drop(undo);
        let buffered = self.state().heap.weak.take_all();
        drop(buffered);
        let written = self.state().heap.reads.take_all();
        drop(written);
        let items = self.state().take_imported_items();
        let (kept, failures, misuses) = {
            let mut state = self.state();
            for (index, thread) in state.threads.iter_mut().enumerate() {
                // Destructors run in the main thread, and may ask which one that is.
                if index > 0 {
                    threads.extend(thread.object.take());
                }
                threads.extend(thread.target.take());
                threads.extend(thread.predicate.take());
                threads.extend(thread.waiting.take().and_then(|(_, object)| object));
                loops.push(std::mem::take(&mut thread.loops));
                open.push(std::mem::take(&mut thread.open));
            }
            let kept = state.objects.forget_current();
            (kept, std::mem::take(&mut state.run.failures), std::mem::take(&mut state.run.misuses))
        };
        drop((items, kept, threads, loops, open, failures, misuses));
    }

    /// Let every suspended thread leave its code, running its `finally` blocks.
    fn unwind(&self, py: Python<'_>) -> PyResult<()> {
        self.state().phase = Phase::Unwinding;
        let count = self.state().threads.len();
        for index in 0..count {
            let thread = ThreadId(index as u32);
            // A thread that swallows Abort is asked again, but not for ever.
            for _ in 0..100 {
                let suspended = self.state().threads[index].greenlet.as_ref().map(|g| g.clone_ref(py));
                let Some(suspended) = suspended else { break };
                self.state().current = thread;
                self.greenlets.switch(py, &suspended)?;
            }
            self.state().threads[index].greenlet = None;
        }
        self.state().phase = Phase::Idle;
        Ok(())
    }
}

#[pymethods]
impl Host {
    /// What a pooled greenlet runs.
    fn _run_threads(&self, py: Python<'_>) -> PyResult<()> {
        self.run_threads(py)
    }

    /// Let go of the model: of its objects, which the host knows and which know the host, and of the pooled greenlets,
    /// whose stacks hold on to it. Nothing can be explored afterwards. An exploration that could not end is left as it
    /// is.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.state().phase != Phase::Idle {
            return Ok(());
        }
        self.state().greenlets.closing = true;
        loop {
            let idle = self.state().greenlets.idle.pop();
            let Some(idle) = idle else { break };
            self.greenlets.switch(py, &idle)?;
        }
        self.asleep(|| self.release_objects());
        let mut closed = State::new(py)?;
        closed.greenlets.closing = true;
        let model = std::mem::replace(&mut *self.state(), closed);
        drop(model);
        Ok(())
    }
}
