//! Source and optimal exploration against the exhaustive oracle, on named and on random programs.

use crate::amount::programs;
use crate::script::random::Seeded;
use crate::script::{Instruction, Script};
use _kernel::driver::Counts;
use Instruction::*;

fn main_joining(children: usize) -> Vec<Instruction> {
    (1..=children).map(Spawn).chain((1..=children).map(Join)).collect()
}

fn program(threads: Vec<Vec<Instruction>>) -> Script {
    let mut all = vec![main_joining(threads.len())];
    all.extend(threads);
    Script::new(all)
}

/// Returns false if the program is too large for the oracle.
fn agrees_with_oracle(script: &Script, label: &str) -> bool {
    let Some(oracle) = script.explore("exhaustive") else { return false };
    let optimal = script.explore("optimal").expect("no more executions than the oracle");
    let source = script.explore("source").expect("no more executions than the oracle");
    let context = format!("{label}: {:?}", script.threads);
    let graph = script.explore("graph").unwrap_or_else(|| panic!("more executions than the oracle, {context}"));
    assert_eq!(graph.outcomes, oracle.outcomes, "outcomes of graph, {context}");
    assert_eq!(graph.counts.redundant, 0, "redundant of graph, {context}");
    assert_eq!(optimal.outcomes, oracle.outcomes, "outcomes of optimal, {context}");
    assert_eq!(source.outcomes, oracle.outcomes, "outcomes of source, {context}");
    assert_eq!(optimal.counts.redundant, 0, "redundant of optimal, {context}");
    for found in [&optimal, &source, &graph] {
        assert_eq!(found.counts.executions, oracle.counts.executions, "classes, {context}");
        assert_eq!(found.counts.blocked, oracle.counts.blocked, "blocked classes, {context}");
    }
    true
}

fn counts(script: &Script, algorithm: &str) -> Counts {
    script.explore(algorithm).expect("a small program").counts
}

#[test]
fn unprotected_increments_have_as_many_classes_as_published() {
    let increment = vec![Load(0), StoreRegister(0, 1)];
    let two = program(vec![increment.clone(); 2]);
    assert_eq!(counts(&two, "optimal").executions, 4);
    let three = program(vec![increment; 3]);
    assert_eq!(counts(&three, "optimal").executions, 36);
    assert_eq!(counts(&three, "source").executions, 36);
}

#[test]
fn opposite_lock_orders_have_two_complete_classes_and_one_deadlock() {
    let script =
        program(vec![vec![Lock(0), Lock(1), Unlock(1), Unlock(0)], vec![Lock(1), Lock(0), Unlock(0), Unlock(1)]]);
    let counts = counts(&script, "optimal");
    assert_eq!((counts.executions, counts.blocked, counts.redundant), (2, 1, 0));
    assert!(agrees_with_oracle(&script, "opposite locks"));
}

#[test]
fn a_lock_that_is_never_released_blocks_each_thread_in_turn() {
    let script = program(vec![vec![Lock(0), Store(0, 1)], vec![Lock(0), Store(0, 2)]]);
    assert!(agrees_with_oracle(&script, "never released"));
}

fn random_thread(random: &mut Seeded, length: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut held: Vec<u32> = Vec::new();
    while code.len() < length {
        let variable = random.below(2) as u32;
        let value = random.below(2) as i64;
        match random.below(16) {
            0..=2 => code.push(Load(variable)),
            3..=4 => code.push(Store(variable, value + 1)),
            5 => code.push(StoreRegister(variable, 1)),
            6 => code.push(FetchAdd(variable, 1)),
            7..=8 => code.push(CompareExchange(variable, value, value + 1)),
            9 => {
                let lock = random.below(2) as u32;
                if !held.contains(&lock) {
                    code.push(Lock(lock));
                    held.push(lock);
                }
            }
            10 => {
                if let Some(lock) = held.pop() {
                    code.push(Unlock(lock));
                }
            }
            11 => {
                let lock = random.below(2) as u32;
                if !held.contains(&lock) {
                    code.extend([TryLockOrSkip(lock, 2), Store(variable, 3), Unlock(lock)]);
                }
            }
            12 => code.extend([SkipUnless(value, 1), Store(variable, 4)]),
            13 => code.push(if value == 0 { SemaphoreAcquire } else { SemaphoreRelease }),
            14 => code.push(match random.below(3) {
                0 => FlagWait,
                1 => FlagSet,
                _ => FlagClear,
            }),
            _ => code.push(if random.below(3) == 0 { Assume(value) } else { Choose(2) }),
        }
    }
    if random.below(4) > 0 {
        while let Some(lock) = held.pop() {
            code.push(Unlock(lock));
        }
    }
    code
}

/// Operations on several locations at once and on cells of a container, between those on single variables.
fn random_thread_on_several_locations(random: &mut Seeded, length: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    while code.len() < length {
        let (first, second) = if random.below(2) == 0 { (0, 1) } else { (1, 0) };
        let value = random.below(3) as i64;
        let cell = random.below(2) as u32;
        code.push(match random.below(14) {
            0 => Load(first),
            1 | 2 => Store(first, value),
            3 => FetchAdd(2, 1),
            4 => CompareExchange(2, value % 2, value),
            5 => LoadBoth(first, second),
            6 => LoadBoth(first, 2),
            7 => Copy(first, second),
            8 => StoreBoth(first, second, value),
            9 => LoadCell(cell),
            10 | 11 => StoreCell(cell, value),
            12 => LoadCells,
            _ => StoreCells(value),
        });
    }
    code
}

#[test]
fn random_programs_on_several_locations_agree_with_the_oracle() {
    let count = programs(1000);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0xa076_1d64_78bd_642f);
        random.below(2);
        let threads = 2 + random.below(2) as usize;
        let budget = if threads == 2 { 4 } else { 2 };
        let threads = (0..threads).map(|_| random_thread_on_several_locations(&mut random, budget)).collect();
        compared += u64::from(agrees_with_oracle(&program(threads), &format!("seed {seed}")));
    }
    assert!(compared * 10 > count * 7, "only {compared} of {count} programs were small enough");
}

#[test]
fn random_programs_agree_with_the_oracle() {
    let count = programs(250);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0x9e37_79b9_7f4a_7c15);
        random.below(2);
        let threads = 2 + random.below(2) as usize;
        let budget = if threads == 2 { 5 } else { 3 };
        let threads = (0..threads).map(|_| random_thread(&mut random, budget)).collect();
        compared += u64::from(agrees_with_oracle(&program(threads), &format!("seed {seed}")));
    }
    assert!(compared * 10 > count * 7, "only {compared} of {count} programs were small enough");
}

/// Too large for the oracle: source sets keep no wakeup trees, so that the two can only agree if both are right.
#[test]
fn larger_random_programs_have_the_same_classes_under_source_and_optimal() {
    let count = programs(40);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0xd134_2543_de82_ef95);
        random.below(2);
        let threads = 3 + random.below(2) as usize;
        let threads = (0..threads).map(|_| random_thread(&mut random, 7)).collect();
        let script = program(threads);
        let (Some(source), Some(optimal)) = (script.explore("source"), script.explore("optimal")) else { continue };
        let context = format!("seed {seed}: {:?}", script.threads);
        let graph = script.explore("graph").unwrap_or_else(|| panic!("too many executions of graph, {context}"));
        assert_eq!((graph.counts.redundant, &graph.outcomes), (0, &source.outcomes), "graph, {context}");
        let classes = |found: &crate::script::Found| (found.counts.executions, found.counts.blocked);
        assert_eq!(classes(&graph), classes(&optimal), "classes of graph, {context}");
        assert_eq!(optimal.counts.redundant, 0, "redundant, {context}");
        assert_eq!(optimal.outcomes, source.outcomes, "outcomes, {context}");
        assert_eq!(optimal.counts.executions, source.counts.executions, "classes, {context}");
        assert_eq!(optimal.counts.blocked, source.counts.blocked, "blocked classes, {context}");
        compared += 1;
    }
    assert!(compared * 3 > count, "only {compared} of {count} programs were small enough");
}
