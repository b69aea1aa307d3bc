//! Handing parts of an exploration over: whatever is split off and wherever it is stopped, the parts add up.

use crate::script::random::{random_thread, Mix, Seeded, MIXES};
use crate::script::{Final, Instruction, Machine, Recording, Script};
use _kernel::driver::{Counts, Driver};
use _kernel::explorer::{create, Explorer, ExplorerOptions, Parsimonious, Splitting};
use _kernel::limits::{Limits, Meter};
use _kernel::memory::SequentialConsistency;
use _kernel::program::explore;
use Instruction::*;

/// The final states of all executions, sorted: none may be missing, and none be there twice.
type Finals = Vec<Final>;

/// The same program with its threads numbered in another way, as another process might number them.
fn renumbered(script: &Script, random: &mut Seeded) -> Script {
    let count = script.threads.len();
    let mut numbers: Vec<usize> = (0..count).collect();
    for index in (2..count).rev() {
        numbers.swap(index, 1 + random.below(index as u64) as usize);
    }
    let mut threads = vec![Vec::new(); count];
    for (thread, code) in script.threads.iter().enumerate() {
        threads[numbers[thread]] = code
            .iter()
            .map(|instruction| match *instruction {
                Spawn(child) => Spawn(numbers[child]),
                Join(child) => Join(numbers[child]),
                other => other,
            })
            .collect();
    }
    Script::new(threads).on(script.machine())
}

fn splitting(driver: &mut Driver) -> &mut dyn Splitting {
    driver.explorer_mut().splitting().expect("the explorer can be split")
}

struct Part {
    counts: Counts,
    left: Vec<String>,
}

/// Explore up to `limit` executions; if `splits`, what is left comes in two parts.
fn explore_part(
    script: &Script,
    explorer: Box<dyn Explorer>,
    limit: Option<u64>,
    splits: bool,
    finals: &mut Finals,
) -> Part {
    let mut script = script.clone();
    let shared = std::cell::RefCell::new(Vec::new());
    let meter = Meter::new(Limits { max_executions: limit, ..Limits::default() });
    let mut driver = Driver::new(explorer, script.machine().memory(), meter);
    let mut program = Recording { script: &mut script, finals: &shared };
    explore(&mut driver, &mut program, |_, _| finals.extend(shared.borrow_mut().pop()))
        .expect("scripts are deterministic");
    let mut left = Vec::new();
    if driver.meter.reached().is_some() {
        left.extend(if splits { splitting(&mut driver).split() } else { None });
        left.extend(splitting(&mut driver).frontier());
    }
    Part { counts: driver.counts, left }
}

fn whole(script: &Script) -> Option<(Counts, Finals)> {
    let options = ExplorerOptions::default();
    let explorer = create("parsimonious", script.machine().name(), &options)?.ok()?;
    let mut finals = Finals::new();
    let part = explore_part(script, explorer, Some(3_000), false, &mut finals);
    finals.sort();
    part.left.is_empty().then_some((part.counts, finals))
}

fn program(random: &mut Seeded, mix: &Mix) -> Script {
    let children = 2 + random.below(3) as usize;
    let main = (1..=children).map(Spawn).chain((1..=children).map(Join)).collect();
    let mut threads = vec![main];
    threads.extend((0..children).map(|_| random_thread(random, mix, 12 / children)));
    Script::new(threads)
}

/// The register of each thread by its place in the program, whatever its number was.
fn unordered(mut finals: Finals) -> Finals {
    for (registers, _) in &mut finals {
        registers.sort_unstable();
    }
    finals.sort();
    finals
}

#[test]
fn parts_that_are_stopped_and_split_at_random_add_up_to_the_whole() {
    let mut compared = 0;
    for (name, mix) in &MIXES {
        for seed in 1..=60 {
            let mut random = Seeded::new(seed);
            let machine = [Machine::Sc, Machine::Tso, Machine::Pso][random.below(3) as usize];
            let script = program(&mut random, mix).on(machine);
            let Some((expected, expected_finals)) = whole(&script) else { continue };
            let context = format!("{name}, seed {seed} under {machine:?}: {:?}", script.threads);
            let mut finals = Finals::new();
            let mut sum = Counts::default();
            let mut left = vec![None];
            while let Some(text) = left.pop() {
                let explorer = match &text {
                    None => Parsimonious::default(),
                    Some(text) => Parsimonious::resume([String::as_str(text)]).expect("it was just written"),
                };
                let limit = Some(1 + random.below(6));
                let splits = random.below(2) == 0;
                let other = renumbered(&script, &mut random);
                let part = explore_part(&other, Box::new(explorer), limit, splits, &mut finals);
                sum.executions += part.counts.executions;
                sum.blocked += part.counts.blocked;
                sum.redundant += part.counts.redundant;
                sum.events += part.counts.events;
                left.extend(part.left.into_iter().map(Some));
            }
            assert_eq!(sum, expected, "{context}");
            assert_eq!(unordered(finals), unordered(expected_finals), "{context}");
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} programs were small enough");
}

#[test]
fn several_frontiers_are_explored_as_one() {
    let readers = vec![vec![Spawn(1), Spawn(2), Spawn(3), Spawn(4)], vec![Store(0, 1)]];
    let script = Script::new([readers, vec![vec![Load(0)]; 3]].concat());
    let first = explore_part(&script, Box::<Parsimonious>::default(), Some(2), true, &mut Finals::new());
    assert_eq!(first.left.len(), 2);
    let resumed = Parsimonious::resume(first.left.iter().map(String::as_str)).expect("they were just written");
    let second = explore_part(&script, Box::new(resumed), None, false, &mut Finals::new());
    assert_eq!(first.counts.executions + second.counts.executions, 8);
    assert!(second.left.is_empty());
}

#[test]
fn nothing_is_left_of_a_finished_exploration() {
    let script = Script::new(vec![vec![Spawn(1)], vec![Load(0)]]);
    let mut explorer = Parsimonious::default();
    assert!(explorer.frontier().is_some());
    assert!(explorer.split().is_none(), "a single branch is not split");
    let part = explore_part(&script, Box::new(explorer), None, true, &mut Finals::new());
    assert!(part.left.is_empty());
}

#[test]
fn what_is_no_frontier_is_refused_with_the_line() {
    let heading = "dpor-frontier 1\nthreads main main.0\n";
    for (text, line) in [
        ("dpor-frontier 2\n", 1),
        ("dpor-frontier 1\nthreads other", 2),
        ("dpor-frontier 1\nnonsense", 2),
        (&format!("{heading}branch 0 1 - 0"), 3),
        (&format!("{heading}trunk 0*3 5 |"), 3),
        (&format!("{heading}trunk 0*3 |\nbranch 4 1 - 0"), 4),
        (&format!("{heading}trunk 0*3 | 2-7:0>-"), 3),
    ] {
        let error = Parsimonious::resume([text]).err().expect("it is refused");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

#[test]
fn a_frontier_of_another_program_ends_the_exploration_with_the_step() {
    let two = Script::new(vec![vec![Spawn(1), Spawn(2)], vec![Load(0)], vec![Store(0, 1)]]);
    let first = explore_part(&two, Box::<Parsimonious>::default(), Some(1), false, &mut Finals::new());
    let other = Script::new(vec![vec![Spawn(1)], vec![Load(0)]]);
    let resumed = Parsimonious::resume(first.left.iter().map(String::as_str)).expect("it was just written");
    let mut driver =
        Driver::new(Box::new(resumed), Box::<SequentialConsistency>::default(), Meter::new(Limits::default()));
    let (mut script, finals) = (other, std::cell::RefCell::new(Vec::new()));
    let mut program = Recording { script: &mut script, finals: &finals };
    explore(&mut driver, &mut program, |_, _| {}).expect("the driver notices nothing");
    assert!(driver.explorer().findings().divergence.is_some());
}
