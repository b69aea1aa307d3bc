//! QPOR against the exhaustive oracle, with full and with k-partial alternatives.

use crate::amount::programs;
use crate::script::random::Seeded;
use crate::script::{Instruction, Script};
use Instruction::*;

fn program(threads: Vec<Vec<Instruction>>) -> Script {
    let children = threads.len();
    let mut all: Vec<Vec<Instruction>> = vec![(1..=children).map(Spawn).chain((1..=children).map(Join)).collect()];
    all.extend(threads);
    Script::new(all)
}

/// Compare full and partial alternatives with `oracle`. Returns false if the program is too large for the oracle.
fn agrees(script: &Script, oracle: &str, label: &str) -> bool {
    let Some(expected) = script.explore(oracle) else { return false };
    for k in [None, Some(1), Some(2)] {
        let context = format!("k {k:?}, {label}: {:?}", script.threads);
        let Some(found) = script.explore_with("unfolding", k) else {
            // What is redundant counts against the limit too.
            assert!(k.is_some(), "more than {oracle}, {context}");
            continue;
        };
        assert_eq!(found.outcomes, expected.outcomes, "outcomes, {context}");
        assert_eq!(found.counts.executions, expected.counts.executions, "classes, {context}");
        assert_eq!(found.counts.blocked, expected.counts.blocked, "blocked classes, {context}");
        assert!(k.is_some() || found.counts.redundant == 0, "redundant, {context}");
    }
    true
}

/// `ssbexp` of the paper's Figure 1: a master reads which of N variables to write while a counter sets it.
fn counter_and_workers(count: u32) -> Script {
    let mut threads: Vec<Vec<Instruction>> = (0..count).map(|index| vec![Store(10 + index, 1)]).collect();
    threads.push((1..count).map(|value| Store(0, i64::from(value))).collect());
    let mut master = vec![Load(0)];
    for index in 0..count {
        master.extend([SkipUnless(i64::from(index), 1), Store(10 + index, 0)]);
    }
    threads.push(master);
    let spawns: Vec<Instruction> = (1..=threads.len()).map(Spawn).collect();
    let mut all = vec![spawns];
    all.extend(threads);
    Script::new(all)
}

#[test]
fn full_alternatives_explore_every_class_once() {
    for count in 2..=7 {
        let found = counter_and_workers(count).explore_with("unfolding", None).expect("few");
        assert_eq!((found.counts.executions, found.counts.redundant), (2 * u64::from(count), 0));
    }
}

#[test]
fn partial_alternatives_explore_less_redundant_the_larger_k_is() {
    let script = counter_and_workers(7);
    let redundant: Vec<u64> =
        [1, 2, 3, 4].map(|k| script.explore_with("unfolding", Some(k)).expect("few").counts.redundant).to_vec();
    assert!(redundant.windows(2).all(|pair| pair[0] >= pair[1]), "{redundant:?}");
    assert!(redundant[0] > 0, "{redundant:?}");
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
            9 | 10 => {
                let lock = random.below(3) as u32;
                if let (true, Some(lock)) = (random.below(3) == 0, held.pop()) {
                    code.push(Unlock(lock));
                } else if !held.contains(&lock) {
                    code.push(Lock(lock));
                    held.push(lock);
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
            14 => code.push([FlagWait, FlagSet, FlagClear][random.below(3) as usize]),
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

fn random_programs(first: u64, share: u64, oracle: &str, threads: std::ops::RangeInclusive<usize>, length: usize) {
    let count = programs(300).div_ceil(share);
    let mut compared = 0;
    for seed in first..first + count {
        let mut random = Seeded::salted(seed, 0xd1b5_4a32_d192_ed03);
        random.below(2);
        let spread = threads.end() - threads.start() + 1;
        let threads = threads.start() + random.below(spread as u64) as usize;
        let length = if threads == 2 { length + 2 } else { length };
        let threads = (0..threads).map(|_| random_thread(&mut random, length)).collect();
        compared += u64::from(agrees(&program(threads), oracle, &format!("seed {seed}")));
    }
    assert!(compared * 10 > count * 6, "only {compared} of {count} programs were small enough");
}

#[test]
fn random_programs_agree_with_the_oracle() {
    random_programs(1, 1, "exhaustive", 2..=3, 3);
}

/// Too large for the oracle: the other algorithms rest on other data structures and proofs.
#[test]
fn larger_random_programs_have_the_same_classes_as_under_optimal() {
    random_programs(1_000_000, 10, "optimal", 3..=4, 4);
}
