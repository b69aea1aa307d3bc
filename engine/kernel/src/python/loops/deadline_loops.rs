//! Loops that look at a clock until a moment has come.
//!
//! Elsewhere time passes by sleeps and time-outs alone, so that a loop that does not sleep would go round for ever, and
//! one that sleeps for a hundredth of what it waits for a hundred times. It also passes at the head of a loop, after
//!
//! - a turn that looked at a clock and did nothing else: the same local variables, the same locks, and reads only (see
//!   `loops.rs`), or
//! - one in `STRIDE` turns that looked at a clock, after `PATIENCE` others in a row that did so too, whatever else they
//!   do. For these, code of the library that looks how long it may still wait looks at a clock, too;
//! - a turn that looked at a clock, slept and did nothing else, after `EXACT` others: a sleep may always last longer.
//!   Of a loop that awaits, what other tasks of the thread do between two turns counts for these (lanes).
//!
//! The steps grow, so that a deadline far ahead is reached in few turns: that the loop turns more often, and that other
//! times pass, is not explored, which the assumption `polled-clock` says. A loop that goes on after `MOST_STEPS` of
//! them, or has slept for longer than `MOST_SLEPT`, does not wait for a moment: to look at a clock is no side effect in it, and time does not pass any more.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::host::Host;
use crate::python::loops::loop_locals::{locals, same_state, Locals};
use crate::python::state::{Phase, State};

/// Turns in a row that look at a clock and do something else, after which time passes.
const PATIENCE: u32 = 1_000;

/// After how many more of them it passes again.
const STRIDE: u32 = 100;

/// The first step, in seconds, and how much longer each is than the one before. All together they are 46 years.
const FIRST_STEP: f64 = 0.001;
const GROWTH: f64 = 4.0;
const MOST_STEPS: u32 = 21;

/// Turns in a row that sleep and do nothing else, which last as long as they say.
const EXACT: u32 = 30;

/// How much longer each further one lasts, in the measure of what the loop has slept so far: it ends little after the
/// moment that it waits for.
const LENGTHENING: f64 = 0.2;

/// Seconds after which a loop that sleeps does not wait for a moment: 46 years, too.
const MOST_SLEPT: f64 = 46.0 * 365.0 * 24.0 * 3600.0;

/// What moves a clock by less, in seconds, counts as nothing: `sleep(0)`.
const LEAST_MOVE: f64 = 0.0005;

/// How many loops of a thread are kept in mind, the latest.
const MOST_LOOPS: usize = 1_024;

/// What one run through a loop has done about time so far.
struct Run {
    token: u64,
    /// How often the thread had looked at a clock, and what its clock showed, when the turn began.
    looks: u64,
    limit_looks: u64,
    time: f64,
    /// Turns in a row that looked while no time passed.
    idle: u32,
    /// By how much the last turn moved the clock, in seconds.
    moved: f64,
    /// Turns in a row that only slept, and for how many seconds.
    slept: u32,
    slept_for: f64,
    /// Of a suspended loop: what its lane had done and its local variables when the turn began.
    began: Option<(u64, Locals)>,
    steps: u32,
    /// Whether the thread can be elsewhere between two turns, so that the run may go on after those further out.
    suspended: bool,
}

/// The runs through loops of one thread, the one that was at its head last at the end.
#[derive(Default)]
pub struct DeadlineLoops {
    looks: u64,
    /// Those of the library's code for its own time limits.
    limit_looks: u64,
    runs: Vec<Run>,
    /// How much time has passed at the heads of loops that do not sleep, in seconds.
    passed: f64,
    /// Local variables of runs that are kept in mind no more: what they keep is dropped later.
    forgotten: Vec<Locals>,
    /// Which of its activities the thread is in (the number of a task), and how many side effects each has had.
    lane: i64,
    effects: FxHashMap<i64, u64>,
}

/// What the turn of a loop that ends had to do with time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nothing, or nothing that matters.
    Timeless,
    /// It looked at a clock, which showed the same throughout.
    Looked,
    /// The same, after many others.
    Idle,
    /// It looked at a clock that has moved on meanwhile, or may have.
    Moved,
}

impl DeadlineLoops {
    /// A turn of the run `token` is over, and the clock shows `time`. Between two turns of a `suspended` loop the
    /// thread can be elsewhere.
    #[inline]
    pub fn turn(&mut self, token: u64, time: f64, suspended: bool) -> Turn {
        if self.looks + self.limit_looks == 0 {
            return Turn::Timeless;
        }
        self.turn_with_looks(token, time, suspended)
    }

    fn turn_with_looks(&mut self, token: u64, time: f64, suspended: bool) -> Turn {
        if !suspended {
            // Loops further in are over.
            self.runs.retain(|run| run.suspended || run.token <= token);
        }
        let Some(position) = self.runs.iter().rposition(|run| run.token == token) else {
            if self.runs.len() == MOST_LOOPS {
                let forgotten = self.runs.remove(0);
                self.forgotten.extend(forgotten.began.map(|(_, locals)| locals));
            }
            let (looks, limit_looks) = (self.looks, self.limit_looks);
            self.runs.push(Run {
                token,
                looks,
                limit_looks,
                time,
                idle: 0,
                moved: 0.0,
                slept: 0,
                slept_for: 0.0,
                began: None,
                steps: 0,
                suspended,
            });
            return if self.looks > 0 { Turn::Moved } else { Turn::Timeless };
        };
        self.runs[position..].rotate_left(1);
        let Some(run) = self.runs.last_mut() else { return Turn::Timeless };
        let looked = std::mem::replace(&mut run.looks, self.looks) != self.looks;
        let limited = std::mem::replace(&mut run.limit_looks, self.limit_looks) != self.limit_looks;
        run.moved = (std::mem::replace(&mut run.time, time) - time).abs();
        let moved = run.moved > LEAST_MOVE;
        if !moved {
            (run.slept, run.slept_for) = (0, 0.0);
        }
        run.idle = if (looked || limited) && !moved { run.idle + 1 } else { 0 };
        if run.steps == MOST_STEPS || run.slept_for > MOST_SLEPT {
            return Turn::Timeless;
        }
        match (looked, moved) {
            (_, false) if run.idle > PATIENCE && run.idle % STRIDE == 1 => Turn::Idle,
            (true, false) => Turn::Looked,
            (true, true) => Turn::Moved,
            (false, _) => Turn::Timeless,
        }
    }

    /// The thread had a side effect.
    #[inline]
    pub fn note_effect(&mut self) {
        if self.looks > 0 {
            *self.effects.entry(self.lane).or_default() += 1;
        }
    }

    /// Which of its activities the thread is in: the number of a task, or 0 for none.
    pub fn lane(&self) -> i64 {
        self.lane
    }

    /// How many side effects the thread has had in the lane that it is in.
    fn effects_so_far(&self) -> u64 {
        self.effects.get(&self.lane).copied().unwrap_or(0)
    }

    /// The last turn slept and did nothing else, or it `did` something. Returns whether time is to pass.
    pub fn note_sleep(&mut self, did: bool) -> bool {
        let Some(run) = self.runs.last_mut() else { return false };
        (run.slept, run.slept_for) = match did {
            true => (0, 0.0),
            false => (run.slept + 1, run.slept_for + run.moved),
        };
        run.slept > EXACT
    }

    /// How much time is to pass at the head of the loop that the last turn was of, in seconds: more and more.
    fn step(&mut self) -> f64 {
        let Some(run) = self.runs.last_mut() else { return 0.0 };
        let step = if run.slept > 0 {
            let step = run.slept_for * LENGTHENING;
            run.slept_for += step;
            step
        } else {
            let step = FIRST_STEP * GROWTH.powi(run.steps as i32);
            run.steps += 1;
            self.passed += step;
            step
        };
        run.time += step;
        step
    }
}

impl State {
    /// The running thread looks at its clock. Returns what that shows, in seconds since the execution began.
    pub fn look_at_clock(&mut self) -> f64 {
        let current = self.current;
        let thread = self.thread(current);
        thread.loops.deadlines.looks += 1;
        thread.time
    }

    /// The same for a clock that shows for how long the thread has run: it does not while it sleeps.
    pub fn look_at_processor_time(&mut self) -> f64 {
        let current = self.current;
        let deadlines = &mut self.thread(current).loops.deadlines;
        deadlines.looks += 1;
        deadlines.passed
    }

    /// The same for code that only looks how long it may still wait.
    pub fn look_at_time_limit(&mut self) -> f64 {
        let current = self.current;
        let thread = self.thread(current);
        thread.loops.deadlines.limit_looks += 1;
        thread.time
    }
}

impl Host {
    /// Whether time is to pass at the head of a suspended loop: whether the turn that is over, and enough before it, have
    /// slept and done nothing else.
    fn only_slept(&self, py: Python<'_>) -> PyResult<bool> {
        let now = locals(py)?;
        let (before, effects) = {
            let mut state = self.state();
            let current = state.current;
            let deadlines = &mut state.thread(current).loops.deadlines;
            (deadlines.runs.last_mut().and_then(|run| run.began.take()), deadlines.effects_so_far())
        };
        let same = match &before {
            Some((had, locals)) => *had == effects && same_state(py, locals, &now)?,
            None => false,
        };
        // What they keep may have destructors, which use the host.
        drop(before);
        let mut state = self.state();
        let current = state.current;
        let deadlines = &mut state.thread(current).loops.deadlines;
        if let Some(run) = deadlines.runs.last_mut() {
            run.began = Some((effects, now));
        }
        Ok(deadlines.note_sleep(!same))
    }

    /// Let time pass for the running thread, which is at the head of a loop that looks at a clock.
    pub fn pass_time_in_loop(&self, py: Python<'_>) {
        let subject = running_function(py).unwrap_or_else(|| "the model".to_owned());
        let mut state = self.state();
        let current = state.current;
        let step = state.thread(current).loops.deadlines.step();
        state.pass_time(step);
        state.assume(py, AssumptionKind::PolledClock, &subject);
    }
}

#[pymethods]
impl Host {
    /// A loop is about to begin that is left and resumed: between two of its turns, the thread runs others. Returns
    /// what stands for this run through it.
    fn enter_suspended_loop(&self) -> u64 {
        let Some(mut state) = self.awake() else { return 0 };
        match state.phase {
            Phase::Running => state.next_loop(),
            _ => 0,
        }
    }

    /// The thread is at the head of such a loop, before its condition. Always True.
    #[pyo3(signature = (token, /))]
    fn at_suspended_loop_head(&self, py: Python<'_>, token: u64) -> PyResult<bool> {
        let turn = {
            let Some(mut state) = self.awake() else { return Ok(true) };
            if token == 0 || state.phase != Phase::Running {
                return Ok(true);
            }
            let current = state.current;
            let thread = state.thread(current);
            thread.loops.deadlines.turn(token, thread.time, true)
        };
        let passes = match turn {
            Turn::Idle => true,
            Turn::Moved => self.only_slept(py)?,
            Turn::Looked | Turn::Timeless => false,
        };
        if passes {
            self.pass_time_in_loop(py);
        }
        Ok(true)
    }

    /// The thread goes on with another of its activities: the task with this number, or 0 for none.
    fn enter_lane(&self, lane: i64) {
        if let Some(mut state) = self.awake() {
            let current = state.current;
            state.thread(current).loops.deadlines.lane = lane;
        }
    }
}

/// What the function that runs calls itself.
fn running_function(py: Python<'_>) -> Option<String> {
    // SAFETY: returns a borrowed reference to the running frame, or null if none runs; it is taken over at once.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast::<ffi::PyObject>()) }?;
    let code = frame.getattr(intern!(py, "f_code")).ok()?;
    code.getattr(intern!(py, "co_qualname")).ok()?.extract().ok()
}
