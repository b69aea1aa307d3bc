//! What to explore and how far: the keyword arguments of `Host.explore`, read and checked.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::explorer::{create, names, ContextBound, Explorer, ExplorerOptions, Parsimonious, Replay, ReplayStep};
use crate::limits::Limits;
use crate::memory::{BufferDiscipline, MemoryModel, Relaxed, SequentialConsistency, StoreBuffers};
use crate::python::explore::settings::Settings;
use crate::python::heap::weak_memory::ScheduledStep;
use crate::python::identities::identity::Identities;
use crate::python::threads::sections::Sections;

/// Between the path of a thread and the number of a store of it, where a step is the flush of this store: `main.0!2`.
pub const FLUSH: char = '!';

/// What happens when two plain accesses race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RacePolicy {
    /// Nobody looks for data races.
    Ignore,
    Warn,
    Error,
}

/// One call of `Host.explore`.
pub struct Plan {
    pub algorithm: String,
    pub memory_model: String,
    pub explorer_options: ExplorerOptions,
    /// The path of the root thread of the value-centric search; None for the first that `main` spawns.
    pub root: Option<String>,
    pub limits: Limits,
    /// What is left of explorations that were stopped (`parsimonious`); empty to explore everything.
    pub frontiers: Vec<String>,
    /// How many switches an execution may have (`context-bound`).
    pub bound: usize,
    pub repeated: Repeated,
    pub hosting: Hosting,
    pub stop_at_failure: bool,
    pub data_races: RacePolicy,
    /// Decides which sides of a symbolic branch are satisfiable: `solver(literals, condition) -> (bool, bool)`.
    pub solver: Option<Py<PyAny>>,
    pub listeners: Listeners,
}

/// What executions follow that are run again (`replay`, `follow`, `learn`).
#[derive(Default)]
pub struct Repeated {
    /// For `replay` the choices of one execution: path of thread (or flush, see `FLUSH`) and outcome; for `follow` its
    /// recorded operations, where the outcome of a store that went through a store buffer is its number.
    pub steps: Vec<(String, u32)>,
    /// Whether to go on once the steps have ended.
    pub complete: bool,
    /// Whether loads read from the writes that the steps name.
    pub chosen_reads: bool,
    /// Whether `wait_until` is a spinloop.
    pub waits_by_spinning: bool,
    /// For `replay`: whether critical sections are one step each.
    pub in_sections: bool,
}

/// How the model is hosted.
pub struct Hosting {
    pub everything_visible: bool,
    /// Whether every location counts as one that threads race for, where that decides which code is instrumented; by
    /// default if every one is visible.
    pub everything_races: Option<bool>,
    pub fresh_modules: bool,
    pub spurious_wakeups: bool,
    /// How often time may pass for each thread between two looks at a clock.
    pub clock_jumps: u32,
    /// Whether the queues of `queue` run on the library's own code.
    pub library_queues: bool,
    /// The same for futures and pools.
    pub library_pools: bool,
    /// Whether turns of event loops are events, if nothing speaks against it.
    pub turns: bool,
    /// The same of critical sections.
    pub sections: bool,
}

impl Default for Hosting {
    fn default() -> Hosting {
        Hosting {
            everything_visible: false,
            everything_races: None,
            fresh_modules: false,
            spurious_wakeups: false,
            clock_jumps: 0,
            library_queues: false,
            library_pools: true,
            turns: false,
            sections: false,
        }
    }
}

/// Who is told what happens.
#[derive(Default)]
pub struct Listeners {
    pub recorder: Option<Py<PyAny>>,
    pub on_failure: Option<Py<PyAny>>,
    pub on_progress: Option<Py<PyAny>>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            algorithm: names().next().unwrap_or_default().to_owned(),
            memory_model: "sc".to_owned(),
            explorer_options: ExplorerOptions { samples: 1000, ..ExplorerOptions::default() },
            root: None,
            limits: Limits::default(),
            frontiers: Vec::new(),
            bound: 0,
            repeated: Repeated::default(),
            hosting: Hosting::default(),
            stop_at_failure: true,
            data_races: RacePolicy::Ignore,
            solver: None,
            listeners: Listeners::default(),
        }
    }
}

impl Plan {
    /// Read keyword arguments. Raises TypeError for an unknown name or a value of the wrong type, ValueError for a
    /// time-out or a policy that makes no sense.
    pub fn read(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Plan> {
        let mut plan = Plan::default();
        for (name, value) in keywords.into_iter().flatten() {
            let name = name.cast_into::<PyString>()?;
            let name = name.to_str()?;
            plan.set(name, &value).map_err(|error| {
                let py = value.py();
                if error.is_instance_of::<PyTypeError>(py) {
                    PyTypeError::new_err(format!("explore() argument {name:?}: {}", error.value(py)))
                } else {
                    error
                }
            })?;
        }
        Ok(plan)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "algorithm" => self.algorithm = value.extract()?,
            "memory_model" => self.memory_model = value.extract()?,
            "seed" => self.explorer_options.seed = value.extract()?,
            "samples" => self.explorer_options.samples = value.extract()?,
            "depth" => self.explorer_options.depth = value.extract()?,
            "k" => self.explorer_options.k = value.extract()?,
            "root" => self.root = value.extract()?,
            "max_steps" => self.limits.max_steps = value.extract()?,
            "max_executions" => self.limits.max_executions = value.extract()?,
            "preemption_bound" => self.limits.preemption_bound = value.extract()?,
            "timeout" => self.limits.timeout = value.extract::<Option<f64>>()?.map(duration).transpose()?,
            "bound" => self.bound = value.extract()?,
            "steps" => self.repeated.steps = value.extract::<Option<_>>()?.unwrap_or_default(),
            "reads_from" => self.explorer_options.reads_from = value.extract()?,
            "waits_by_spinning" => self.repeated.waits_by_spinning = value.extract()?,
            "chosen_reads" => self.repeated.chosen_reads = value.extract()?,
            "frontiers" => self.frontiers = value.extract()?,
            "complete" => self.repeated.complete = value.extract()?,
            "stop_at_failure" => self.stop_at_failure = value.extract()?,
            "everything_visible" => self.hosting.everything_visible = value.extract()?,
            "everything_races" => self.hosting.everything_races = value.extract()?,
            "fresh_modules" => self.hosting.fresh_modules = value.extract()?,
            "spurious_wakeups" => self.hosting.spurious_wakeups = value.extract()?,
            "library_queues" => self.hosting.library_queues = value.extract()?,
            "library_pools" => self.hosting.library_pools = value.extract()?,
            "turns" => self.hosting.turns = value.extract()?,
            "sections" => self.hosting.sections = value.extract()?,
            "in_sections" => self.repeated.in_sections = value.extract()?,
            "clock_jumps" => self.hosting.clock_jumps = value.extract()?,
            "data_races" => self.data_races = race_policy(&value.extract::<String>()?)?,
            "solver" => self.solver = value.extract()?,
            "recorder" => self.listeners.recorder = value.extract()?,
            "on_failure" => self.listeners.on_failure = value.extract()?,
            "on_progress" => self.listeners.on_progress = value.extract()?,
            _ => return Err(PyTypeError::new_err("there is no such argument")),
        }
        Ok(())
    }

    /// A new explorer. `noted` counts what the recorder has been told of, `sections` tell which locks are ordinary. Raises ValueError for an unknown algorithm,
    /// an unsupported pair, or a step of what is no thread.
    pub fn explorer(
        &self,
        identities: &mut Identities,
        noted: &Rc<Cell<usize>>,
        sections: &Sections,
    ) -> PyResult<Box<dyn Explorer>> {
        match self.algorithm.as_str() {
            "follow" => return Ok(Box::new(Replay::following(self.replay_steps(identities)?, noted.clone()))),
            "replay" | "learn" => {
                let replay = Replay::new(self.replay_steps(identities)?, self.repeated.complete);
                return Ok(Box::new(match self.repeated.in_sections {
                    true => replay.of_sections(sections.ordinary().clone()),
                    false => replay,
                }));
            }
            "context-bound" => return Ok(Box::new(ContextBound::new(self.bound))),
            _ => {}
        }
        let mut options = self.explorer_options;
        if let Some(path) = &self.root {
            let no_path = || PyValueError::new_err(format!("root {path:?} is not the path of a thread"));
            options.root = Some(identities.thread_at(path).ok_or_else(no_path)?);
        }
        match create(&self.algorithm, &self.memory_model, &options) {
            None => Err(PyValueError::new_err(format!(
                "unknown algorithm {:?}; there are: {}",
                self.algorithm,
                names().collect::<Vec<_>>().join(", ")
            ))),
            Some(Err(unsupported)) => Err(PyValueError::new_err(format!(
                "algorithm {:?} does not support memory model {:?}{}",
                self.algorithm,
                self.memory_model,
                unsupported.instead.map(|name| format!("; {name:?} does")).unwrap_or_default()
            ))),
            Some(Ok(explorer)) => Ok(explorer),
        }
    }

    /// The settings, for an explorer that sees every execution or does not.
    pub fn settings(&self, is_exhaustive: bool) -> Settings {
        Settings {
            everything_visible: self.hosting.everything_visible,
            everything_races: self.hosting.everything_races.unwrap_or(self.hosting.everything_visible),
            fresh_modules: self.hosting.fresh_modules,
            stop_at_failure: self.stop_at_failure,
            spurious_wakeups: self.hosting.spurious_wakeups,
            waits_by_spinning: self.repeated.waits_by_spinning || self.repeated.chosen_reads,
            spins_wait: !self.learns() || !is_exhaustive,
        }
    }

    /// The steps to run again. Raises ValueError for a step of what is no thread.
    pub fn replay_steps(&self, identities: &mut Identities) -> PyResult<Vec<ReplayStep>> {
        let mut find = |(actor, outcome): &(String, u32)| {
            let (path, flush) = match actor.split_once(FLUSH) {
                None => (actor.as_str(), None),
                Some((path, number)) => (path, Some(number.parse().unwrap_or(0))),
            };
            match identities.thread_at(path) {
                Some(thread) => Ok(ReplayStep { thread, outcome: *outcome, flush }),
                None => Err(PyValueError::new_err(format!("{path:?} is not the path of a thread"))),
            }
        };
        self.repeated.steps.iter().map(&mut find).collect()
    }

    /// For a schedule that is followed: which of its stores went through a buffer.
    pub fn scheduled_steps(&self, identities: &mut Identities) -> PyResult<Option<Vec<ScheduledStep>>> {
        if self.algorithm != "follow" {
            return Ok(None);
        }
        let steps = self.replay_steps(identities)?.into_iter().map(|step| ScheduledStep {
            thread: step.thread,
            is_flush: step.flush.is_some(),
            number: step.outcome,
        });
        Ok(Some(steps.collect()))
    }

    /// Whether reads-from is chosen.
    fn chooses_reads(&self) -> bool {
        match self.algorithm.as_str() {
            "replay" => self.repeated.chosen_reads,
            "graph" | "concolic" => self.memory_model != "sc" || self.explorer_options.reads_from,
            _ => false,
        }
    }

    pub fn memory(&self) -> Box<dyn MemoryModel> {
        match self.memory_model.as_str() {
            _ if self.chooses_reads() => Box::<Relaxed>::default(),
            "tso" => Box::new(StoreBuffers::new(BufferDiscipline::Thread)),
            "pso" => Box::new(StoreBuffers::new(BufferDiscipline::Location)),
            _ => Box::<SequentialConsistency>::default(),
        }
    }

    /// The explorer to begin with: `explorer`, or one that goes on with what others left. Raises ValueError also for
    /// what is no frontier, or is one of another algorithm.
    pub fn first_explorer(
        &self,
        identities: &mut Identities,
        noted: &Rc<Cell<usize>>,
        sections: &Sections,
    ) -> PyResult<Box<dyn Explorer>> {
        if self.frontiers.is_empty() {
            return self.explorer(identities, noted, sections);
        }
        if self.algorithm != "parsimonious" {
            return Err(PyValueError::new_err(format!(
                "algorithm {:?} cannot go on with a frontier",
                self.algorithm
            )));
        }
        let resumed = Parsimonious::resume(self.frontiers.iter().map(String::as_str));
        let explorer = resumed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Box::new(explorer))
    }

    /// Whether one execution is repeated rather than many explored.
    pub fn repeats(&self) -> bool {
        matches!(self.algorithm.as_str(), "replay" | "follow" | "learn")
    }

    /// Whether the algorithm and the memory model treat turns of event loops as events.
    pub fn treats_turns(&self) -> bool {
        self.algorithm == "optimal" && self.memory_model == "sc" && !self.hosting.everything_visible
    }

    /// Whether recorded operations are followed.
    pub fn follows(&self) -> bool {
        self.algorithm == "follow"
    }

    /// Whether a location that turns out to race is made visible, which begins the exploration anew.
    pub fn learns(&self) -> bool {
        !matches!(self.algorithm.as_str(), "replay" | "follow" | "context-bound")
    }
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("timeout has to be a number of seconds, not {seconds}")))
}

fn race_policy(name: &str) -> PyResult<RacePolicy> {
    match name {
        "ignore" => Ok(RacePolicy::Ignore),
        "warn" => Ok(RacePolicy::Warn),
        "error" => Ok(RacePolicy::Error),
        _ => {
            Err(PyValueError::new_err(format!("unknown way to treat data races {name:?}: use ignore, warn or error")))
        }
    }
}
