//! Programs that branch on symbolic values, against the exhaustive oracle and against trying every value.

use std::collections::BTreeSet;

use crate::amount::programs;
use crate::script::random::Seeded;
use crate::script::{Instruction, Outcome, Script, CONDITIONS, DOMAIN};
use Instruction::*;

fn program(threads: Vec<Vec<Instruction>>) -> Script {
    let mut all = vec![(1..=threads.len()).map(Spawn).chain((1..=threads.len()).map(Join)).collect()];
    all.extend(threads);
    Script::new(all)
}

/// What can happen with some values of the symbolic variables; None if there are too many executions.
fn outcomes_of_all_values(script: &Script) -> Option<BTreeSet<Outcome>> {
    let mut outcomes = BTreeSet::new();
    for a in 0..DOMAIN {
        for b in 0..DOMAIN {
            let mut concrete = script.clone();
            concrete.values = Some([a, b]);
            outcomes.extend(concrete.explore("optimal")?.outcomes);
        }
    }
    Some(outcomes)
}

fn counts(script: &Script, algorithm: &str) -> (u64, u64, u64) {
    let counts = script.explore(algorithm).expect("a small program").counts;
    (counts.executions, counts.blocked, counts.redundant)
}

#[test]
fn a_read_and_a_symbolic_assertion_beside_a_write_have_three_classes_of_each() {
    // ConDPOR, example 1 (RS+W), without the shortcut of `or`.
    let script = program(vec![vec![Load(0), Branch(2)], vec![Store(0, 1)]]);
    for algorithm in ["optimal", "concolic", "source", "exhaustive"] {
        let (executions, blocked, _) = counts(&script, algorithm);
        assert_eq!((executions, blocked), (4, 0), "{algorithm}");
    }
}

#[test]
fn branches_of_two_threads_on_one_value_exclude_each_other() {
    // a < 1 in one thread excludes not (a < 2) in the other.
    let script = program(vec![vec![Branch(0)], vec![Branch(1)]]);
    for algorithm in ["optimal", "concolic", "source", "exhaustive"] {
        assert_eq!(counts(&script, algorithm).0, 3, "{algorithm}");
    }
    assert_eq!(counts(&script, "optimal").2, 0);
}

#[test]
fn an_impossible_side_is_never_taken() {
    let script = program(vec![vec![Branch(9), Assume(0), Store(0, 1)], vec![Load(0)]]);
    assert_eq!(counts(&script, "optimal"), (2, 0, 0));
}

fn random_thread(random: &mut Seeded, length: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut held = None;
    while code.len() < length {
        let variable = random.below(2) as u32;
        let value = random.below(2) as i64;
        match random.below(14) {
            0..=1 => code.push(Load(variable)),
            2 => code.push(Store(variable, value + 1)),
            3 => code.push(StoreRegister(variable, 1)),
            4 => code.push(FetchAdd(variable, 1)),
            5 => code.push(CompareExchange(variable, value, value + 1)),
            6 => match held.take() {
                None => {
                    code.push(Lock(0));
                    held = Some(0);
                }
                Some(lock) => code.push(Unlock(lock)),
            },
            7 => code.push(if random.below(3) == 0 { Assume(value) } else { Choose(2) }),
            8 => code.extend([SkipUnless(value, 1), Store(variable, 4)]),
            9 => code.extend([Branch(random.below(u64::from(CONDITIONS)) as u32), StoreRegister(variable, 5)]),
            10 => {
                let condition = random.below(u64::from(CONDITIONS)) as u32;
                code.extend([Branch(condition), SkipUnless(value, 1), Store(variable, 6)]);
            }
            11 => code.extend([Branch(random.below(u64::from(CONDITIONS)) as u32), Assume(value)]),
            _ => code.push(Branch(random.below(u64::from(CONDITIONS)) as u32)),
        }
    }
    if let (Some(lock), true) = (held, random.below(4) > 0) {
        code.push(Unlock(lock));
    }
    code
}

#[test]
fn random_symbolic_programs_agree_with_the_oracle_and_with_trying_every_value() {
    let count = programs(300);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0x9e37_79b9_7f4a_7c15);
        random.below(2);
        let threads = 2 + random.below(2) as usize;
        let budget = if threads == 2 { 5 } else { 3 };
        let script = program((0..threads).map(|_| random_thread(&mut random, budget)).collect());
        let Some(oracle) = script.explore("exhaustive") else { continue };
        let context = format!("seed {seed}: {:?}", script.threads);
        if let Some(outcomes) = outcomes_of_all_values(&script) {
            assert_eq!(oracle.outcomes, outcomes, "outcomes of the oracle, {context}");
        }
        for algorithm in ["optimal", "concolic", "source"] {
            let found = script.explore(algorithm).expect("no more executions than the oracle");
            assert_eq!(found.outcomes, oracle.outcomes, "outcomes of {algorithm}, {context}");
            assert_eq!(found.counts.executions, oracle.counts.executions, "classes of {algorithm}, {context}");
            assert_eq!(found.counts.blocked, oracle.counts.blocked, "blocked classes of {algorithm}, {context}");
            if algorithm != "source" {
                assert_eq!(found.counts.redundant, 0, "redundant of {algorithm}, {context}");
            }
        }
        compared += 1;
    }
    assert!(compared * 10 > count * 7, "only {compared} of {count} programs were small enough");
}

/// Too large for the oracle: source sets keep no wakeup trees, so that the two can only agree if both are right.
#[test]
fn larger_symbolic_programs_have_the_same_classes_under_source_optimal_and_concolic() {
    let count = programs(40);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0xd134_2543_de82_ef95);
        random.below(2);
        let threads = 3 + random.below(2) as usize;
        let script = program((0..threads).map(|_| random_thread(&mut random, 6)).collect());
        let (Some(source), Some(optimal)) = (script.explore("source"), script.explore("optimal")) else { continue };
        let concolic = script.explore("concolic").expect("no more executions than the others");
        let context = format!("seed {seed}: {:?}", script.threads);
        for found in [&optimal, &concolic] {
            assert_eq!(found.counts.redundant, 0, "redundant, {context}");
            assert_eq!(found.outcomes, source.outcomes, "outcomes, {context}");
            assert_eq!(found.counts.executions, source.counts.executions, "classes, {context}");
            assert_eq!(found.counts.blocked, source.counts.blocked, "blocked classes, {context}");
        }
        compared += 1;
    }
    assert!(compared * 3 > count, "only {compared} of {count} programs were small enough");
}
