//! What drives an exploration besides the algorithm: limits, replay, the search for few switches, random schedules.

use crate::script::{Instruction, Recording, Script};
use _kernel::driver::{Counts, Driver};
use _kernel::explorer::{create, ContextBound, Explorer, ExplorerOptions, Replay, ReplayStep};
use _kernel::limits::{Bound, Limits, Meter};
use _kernel::memory::SequentialConsistency;
use _kernel::operation::{Choice, ThreadId};
use _kernel::program::explore;
use Instruction::*;

/// Two threads that lose an update, and a `main` that waits for both.
fn lost_update() -> Script {
    let increment = vec![Load(0), StoreRegister(0, 1)];
    Script::new(vec![vec![Spawn(1), Spawn(2), Join(1), Join(2)], increment.clone(), increment])
}

/// Events of one complete execution of it: two spawns, two joins, and for each thread a start, a load and a store.
const EVENTS: usize = 10;

struct Explored {
    /// For each execution that was not given up: its choices, and the last value of variable 0.
    executions: Vec<(Vec<Choice>, i64)>,
    counts: Counts,
    bound: Option<Bound>,
    divergence: Option<(usize, String)>,
}

fn run(script: &Script, explorer: Box<dyn Explorer>, limits: Limits) -> Explored {
    let mut script = script.clone();
    let finals = std::cell::RefCell::new(Vec::new());
    let mut program = Recording { script: &mut script, finals: &finals };
    let mut driver = Driver::new(explorer, Box::<SequentialConsistency>::default(), Meter::new(limits));
    let mut executions = Vec::new();
    explore(&mut driver, &mut program, |driver, _| {
        let memory = finals.borrow_mut().pop().map(|(_, memory)| memory).unwrap_or_default();
        let value = memory.iter().find(|(variable, _)| *variable == 0).map_or(0, |(_, value)| *value);
        executions.push((driver.execution.choices(), value));
    })
    .expect("scripts are deterministic");
    let divergence = driver.explorer().findings().divergence;
    let divergence = divergence.map(|divergence| (divergence.step, format!("{:?}", divergence.reason)));
    Explored { executions, counts: driver.counts, bound: driver.meter.reached(), divergence }
}

fn explorer(name: &str, seed: u64, samples: u64, depth: usize) -> Box<dyn Explorer> {
    create(name, "sc", &ExplorerOptions { seed, samples, depth, ..ExplorerOptions::default() })
        .expect("known")
        .expect("supported")
}

fn steps(threads: &[u32]) -> Vec<ReplayStep> {
    threads.iter().map(|thread| ReplayStep { thread: ThreadId(*thread), outcome: 0, flush: None }).collect()
}

#[test]
fn random_schedules_are_the_same_for_the_same_seed_and_differ_between_seeds() {
    for depth in [0, 3] {
        let schedules = |seed| run(&lost_update(), explorer("random", seed, 30, depth), Limits::default()).executions;
        assert_eq!(schedules(7), schedules(7), "depth {depth}");
        assert_ne!(schedules(7), schedules(8), "depth {depth}");
    }
}

#[test]
fn random_schedules_find_the_lost_update_and_prove_nothing() {
    for depth in [0, 3] {
        let explorer = explorer("random", 1, 200, depth);
        assert!(!explorer.requirements().is_exhaustive);
        let explored = run(&lost_update(), explorer, Limits::default());
        assert_eq!(explored.counts.total(), 200);
        assert!(explored.executions.iter().any(|(_, value)| *value == 1), "depth {depth}");
    }
}

#[test]
fn a_replay_repeats_an_execution_that_another_explorer_found() {
    let found = run(&lost_update(), explorer("optimal", 0, 0, 0), Limits::default());
    for (choices, value) in found.executions {
        let recorded: Vec<u32> = choices.iter().map(|choice| choice.thread().0).collect();
        let again = run(&lost_update(), Box::new(Replay::new(steps(&recorded), false)), Limits::default());
        assert_eq!(again.executions, [(choices, value)]);
        assert_eq!(again.divergence, None);
    }
}

#[test]
fn a_replay_says_where_a_thread_cannot_run() {
    // Threads 1 and 2 do not exist before the second spawn.
    let explored = run(&lost_update(), Box::new(Replay::new(steps(&[0, 2]), true)), Limits::default());
    assert_eq!(explored.divergence, Some((1, "CannotRun".to_owned())));
    assert_eq!(explored.counts.redundant, 1);
}

#[test]
fn a_replay_says_that_its_schedule_ended_early_unless_it_may_go_on() {
    let explored = run(&lost_update(), Box::new(Replay::new(steps(&[0, 0]), false)), Limits::default());
    assert_eq!(explored.divergence, Some((2, "ScheduleEnded".to_owned())));
    let explored = run(&lost_update(), Box::new(Replay::new(steps(&[0, 0]), true)), Limits::default());
    assert_eq!(explored.divergence, None);
    assert_eq!(explored.counts.executions, 1);
}

fn switches(choices: &[Choice]) -> usize {
    choices.windows(2).filter(|pair| pair[0].thread() != pair[1].thread()).count()
}

#[test]
fn the_search_by_switches_finds_a_lost_update_with_the_fewest_and_never_takes_more() {
    // main spawns both | 1 loads | 2 loads and stores | 1 stores | main joins both.
    let fewest = 4;
    for bound in 0..=fewest {
        let explored = run(&lost_update(), Box::new(ContextBound::new(bound)), Limits::default());
        assert!(explored.executions.iter().all(|(choices, _)| switches(choices) <= bound));
        let mut complete = explored.executions.iter().filter(|(choices, _)| choices.len() == EVENTS);
        assert_eq!(complete.any(|(_, value)| *value == 1), bound == fewest, "bound {bound}");
    }
}

#[test]
fn a_bound_on_executions_stops_the_exploration_and_is_named() {
    let limits = Limits { max_executions: Some(2), ..Limits::default() };
    let explored = run(&lost_update(), explorer("optimal", 0, 0, 0), limits);
    assert_eq!((explored.counts.total(), explored.bound), (2, Some(Bound::MaxExecutions)));
}

#[test]
fn a_bound_that_is_just_enough_is_not_reached() {
    let limits = Limits { max_executions: Some(5), max_steps: Some(100), ..Limits::default() };
    let explored = run(&lost_update(), explorer("optimal", 0, 0, 0), limits);
    assert_eq!((explored.counts.executions, explored.bound), (4, None));
}

#[test]
fn a_bound_on_steps_cuts_executions_off() {
    let limits = Limits { max_steps: Some(4), ..Limits::default() };
    let explored = run(&lost_update(), explorer("optimal", 0, 0, 0), limits);
    assert_eq!((explored.counts.executions, explored.counts.cut), (0, 1));
    assert_eq!(explored.bound, Some(Bound::MaxSteps));
    assert_eq!(explored.executions[0].0.len(), 4);
}

#[test]
fn without_preemptions_no_update_is_lost() {
    let limits = Limits { preemption_bound: Some(0), ..Limits::default() };
    let explored = run(&lost_update(), explorer("optimal", 0, 0, 0), limits);
    assert!(explored.counts.executions > 0 && explored.counts.cut > 0);
    assert_eq!(explored.bound, Some(Bound::Preemptions));
    let complete = explored.executions.iter().filter(|(choices, _)| choices.len() == EVENTS);
    assert!(complete.clone().count() > 0);
    assert!(complete.clone().all(|(_, value)| *value == 2));
}

#[test]
fn a_time_out_that_has_passed_stops_after_one_execution() {
    let limits = Limits { timeout: Some(std::time::Duration::ZERO), ..Limits::default() };
    let explored = run(&lost_update(), explorer("optimal", 0, 0, 0), limits);
    assert_eq!((explored.counts.total(), explored.bound), (1, Some(Bound::Timeout)));
}
