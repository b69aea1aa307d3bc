//! Telling a recorder what happens, step by step, while a counterexample is re-run.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::operation::ThreadId;
use crate::python::host::Host;
use crate::threads::Status;

/// What the recorder calls an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    Load,
    /// A load that found nothing: no such item, attribute or variable.
    Miss,
    Store,
    Delete,
    Contains,
    Length,
    Iterate,
    ReadAll,
    WriteAll,
    /// What nobody tells of otherwise reads, or changes.
    Read,
    Write,
    Call,
    Acquire,
    TryAcquire,
    Release,
    Wait,
    Wake,
    Notify,
    Set,
    Clear,
    Put,
    /// A put that found no room.
    TryPut,
    Get,
    /// A get that found nothing.
    TryGet,
    /// A task that an item of a queue stands for is done.
    TaskDone,
    JoinTasks,
    /// A thread comes to a barrier; all have come to it.
    Arrive,
    Meet,
    Spawn,
    Start,
    Join,
    End,
    Choose,
    Look,
    /// A symbolic value comes into being.
    Nondet,
    /// A symbolic condition is decided.
    Branch,
    Assume,
    WaitUntil,
    Spin,
    AtomicLoad,
    AtomicStore,
    Exchange,
    CompareExchange,
    FetchAdd,
    FetchSub,
    FetchOr,
    FetchAnd,
    Fence,
}

impl Word {
    pub fn text(self) -> &'static str {
        match self {
            Word::Load => "load",
            Word::Miss => "miss",
            Word::Store => "store",
            Word::Delete => "delete",
            Word::Contains => "contains",
            Word::Length => "length",
            Word::Iterate => "iterate",
            Word::ReadAll => "read-all",
            Word::WriteAll => "write-all",
            Word::Read => "read",
            Word::Write => "write",
            Word::Call => "call",
            Word::Acquire => "acquire",
            Word::TryAcquire => "try-acquire",
            Word::Release => "release",
            Word::Wait => "wait",
            Word::Wake => "wake",
            Word::Notify => "notify",
            Word::Set => "set",
            Word::Clear => "clear",
            Word::Put => "put",
            Word::TryPut => "try-put",
            Word::Get => "get",
            Word::TryGet => "try-get",
            Word::TaskDone => "task-done",
            Word::JoinTasks => "join-tasks",
            Word::Arrive => "arrive",
            Word::Meet => "meet",
            Word::Spawn => "spawn",
            Word::Start => "start",
            Word::Join => "join",
            Word::End => "end",
            Word::Choose => "choose",
            Word::Look => "look",
            Word::Nondet => "nondet",
            Word::Branch => "branch",
            Word::Assume => "assume",
            Word::WaitUntil => "wait-until",
            Word::Spin => "spin",
            Word::AtomicLoad => "atomic-load",
            Word::AtomicStore => "atomic-store",
            Word::Exchange => "exchange",
            Word::CompareExchange => "compare-exchange",
            Word::FetchAdd => "fetch-add",
            Word::FetchSub => "fetch-sub",
            Word::FetchOr => "fetch-or",
            Word::FetchAnd => "fetch-and",
            Word::Fence => "fence",
        }
    }
}

/// Who is told what happens, and how much of an execution it has been told of.
#[derive(Default)]
pub struct Recording {
    pub recorder: Option<Py<PyAny>>,
    /// How many operations of this execution it knows; a replay counts along.
    pub steps: Rc<Cell<usize>>,
}

impl Recording {
    pub fn recorder(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.recorder.as_ref().map(|recorder| recorder.clone_ref(py))
    }
}

type Value<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

impl Host {
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }
    /// Tell the recorder, if there is one, of an operation that has just been performed.
    #[inline]
    pub fn note(&self, py: Python<'_>, word: Word, target: Value, key: Value, value: Value, event: bool) {
        if self.is_recording() {
            self.tell(py, word, target, key, value, event);
        }
    }

    /// Tell the recorder of the `number`th store of the running thread, which has entered a store buffer.
    pub fn note_buffered(&self, py: Python<'_>, target: Value, key: Value, value: Value, number: u32) {
        if self.is_recording() {
            let current = self.state().current;
            self.tell_untold(py, current, true);
            if self.knows_race() {
                return;
            }
            self.tell_of(py, current, "buffer", target, key, value, true, number);
        }
    }

    /// Tell the recorder that the `number`th store of `owner` has left its store buffer.
    pub fn note_flush(&self, py: Python<'_>, owner: ThreadId, target: Value, key: Value, value: Value, number: u32) {
        if self.is_recording() && !self.knows_race() {
            self.tell_of(py, owner, "flush", target, key, value, true, number);
        }
    }

    /// Pass the result of an operation on; if it raised, tell the recorder now, since nobody will later.
    pub fn noted<T>(
        &self,
        py: Python<'_>,
        result: PyResult<T>,
        word: Word,
        target: &Bound<'_, PyAny>,
        key: Value,
        event: bool,
    ) -> PyResult<T> {
        if result.is_err() {
            let word = if word == Word::Load { Word::Miss } else { word };
            self.note(py, word, Some(target), key, None, event);
        }
        result
    }

    /// Tell the recorder of a step of an iteration that gave nothing.
    pub fn note_end_of_iteration(&self, py: Python<'_>, source: &Bound<'_, PyAny>, event: bool) {
        self.note(py, Word::Iterate, Some(source), None, None, event);
    }

    /// Tell the recorder of an operation that gave a truth value.
    #[inline]
    pub fn note_bool(&self, py: Python<'_>, word: Word, target: &Bound<'_, PyAny>, value: bool, event: bool) {
        if self.is_recording() {
            let value = PyBool::new(py, value);
            self.tell(py, word, Some(target), None, Some(value.as_any()), event);
        }
    }

    /// Whether the recorder has been told of the access that races: it is the last step, and the execution ends at the
    /// next one.
    pub fn knows_race(&self) -> bool {
        let mut state = self.state();
        let races = state.exploration.races.ends_execution && !state.exploration.races.found.is_empty();
        races && std::mem::replace(&mut state.exploration.races.told, true)
    }

    #[cold]
    fn tell(&self, py: Python<'_>, word: Word, target: Value, key: Value, value: Value, event: bool) {
        {
            let Some(state) = self.awake() else { return };
            if state.waits.predicates.evaluating || !state.executes() {
                // A look whether a thread that waits may go on is no step of it.
                return;
            }
            let current = state.current;
            drop(state);
            self.tell_untold(py, current, true);
        }
        let (current, number) = {
            let mut state = self.state();
            let step = state.exploration.recording.steps.get() as u32 + 1;
            (state.current, state.heap.reads.number(step))
        };
        if self.knows_race() {
            return;
        }
        self.tell_of(py, current, word.text(), target, key, value, event, number);
    }

    /// `number` is that of a store that entered or left a store buffer, or for what has a reads-from choice
    /// the number of the step of that write and 1 (1 for the initial value); else 0.
    #[expect(clippy::too_many_arguments)]
    pub fn tell_of(
        &self,
        py: Python<'_>,
        thread: ThreadId,
        word: &str,
        target: Value,
        key: Value,
        value: Value,
        event: bool,
        number: u32,
    ) {
        let (recorder, path) = {
            let mut state = self.state();
            if !state.executes() {
                return;
            }
            if thread == state.current {
                state.thread(thread).waiting = None;
            }
            let recorder = state.exploration.recording.recorder(py);
            (recorder, state.identities.path(thread).to_owned())
        };
        let Some(recorder) = recorder else { return };
        let step = intern!(py, "step");
        let told = self.asleep(|| {
            self.with_headroom(py, || match number {
                0 => recorder.call_method1(py, step, (path, word, target, key, value, event)),
                _ => recorder.call_method1(py, step, (path, word, target, key, value, event, number)),
            })
        });
        match told {
            Ok(go_on) if go_on.is(PyBool::new(py, false)) => self.state().run.halted = true,
            Ok(_) => {}
            Err(error) => error.write_unraisable(py, None),
        }
        let state = self.state();
        state.exploration.recording.steps.set(state.exploration.recording.steps.get() + 1);
    }

    /// Tell the recorder that the current thread may have to wait.
    #[inline]
    pub fn note_waiting(&self, py: Python<'_>, word: Word, target: Value) {
        if !self.is_recording() {
            return;
        }
        // To be told of an operation would say that the thread waits no longer.
        self.tell_owed(py);
        let (recorder, path) = {
            let mut state = self.state();
            let current = state.current;
            state.thread(current).waiting = Some((word, target.map(|object| object.clone().unbind())));
            let recorder = state.exploration.recording.recorder(py);
            (recorder, state.identities.path(current).to_owned())
        };
        let Some(recorder) = recorder else { return };
        let waiting = intern!(py, "waiting");
        let told = self
            .asleep(|| self.with_headroom(py, || recorder.call_method1(py, waiting, (path, word.text(), target))));
        if let Err(error) = told {
            error.write_unraisable(py, None);
        }
    }

    /// The threads that have come to an operation and cannot perform it as things stand.
    fn held_up(&self) -> Vec<ThreadId> {
        let state = self.state();
        let threads = &state.driver.threads;
        let held_up = |thread: &ThreadId| {
            let pending = threads.get(*thread).status == Status::Pending;
            state.spin_ended(*thread) == Some(false) || pending && !threads.is_enabled(*thread, &*state.driver.memory)
        };
        threads.alive().iter().copied().filter(held_up).collect()
    }

    /// At the end of a recorded execution: who still waits, for what.
    pub fn report_blocked(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_recording() {
            return Ok(());
        }
        let waiting: Vec<(String, &'static str, Option<Py<PyAny>>)> = {
            let held_up = self.held_up();
            let mut state = self.state();
            held_up
                .into_iter()
                .filter_map(|thread| {
                    let (word, object) = state.thread(thread).waiting.take()?;
                    Some((state.identities.path(thread).to_owned(), word.text(), object))
                })
                .collect()
        };
        let recorder = self.state().exploration.recording.recorder(py);
        if let Some(recorder) = recorder {
            for entry in waiting {
                self.asleep(|| recorder.call_method1(py, intern!(py, "blocked"), entry))?;
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Host {
    /// The spawn paths of the threads that cannot go on as things stand; a recorder asks after a step.
    fn waiting_threads(&self) -> Vec<String> {
        let held_up = self.held_up();
        let state = self.state();
        held_up.into_iter().map(|thread| state.identities.path(thread).to_owned()).collect()
    }
}
