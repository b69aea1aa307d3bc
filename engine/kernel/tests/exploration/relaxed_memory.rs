//! Graphs under memory models that no sequence of steps stands for, on litmus tests with known counts.

use crate::amount::programs;
use crate::litmus::brute_force::enumerate;
use crate::litmus::{explore_classes, explore_litmus, rows, Statement, Value, CONDITIONS};
use crate::script::random::Seeded;
use _kernel::operation::MemoryOrder;

#[test]
fn litmus_tests_have_as_many_consistent_graphs_as_brute_force_enumeration_found() {
    let mut wrong = Vec::new();
    for row in rows() {
        let classes =
            explore_classes(&row.threads, &row.registers, "graph", &row.memory_model).expect("a small test");
        let found = explore_litmus(&row.threads, &row.registers, "graph", &row.memory_model).expect("a small test");
        let counts = (classes.counts.executions, classes.counts.redundant);
        if counts != (row.reads_from_classes, 0) || classes.outcomes != row.outcomes {
            let expected = row.reads_from_classes;
            wrong.push(format!("{} {}: {counts:?} classes instead of {expected}", row.name, row.memory_model));
        }
        let counts = (found.counts.executions, found.counts.redundant);
        if counts != (row.executions, 0) || found.outcomes != row.outcomes {
            let missing: Vec<_> = row.outcomes.difference(&found.outcomes).collect();
            let extra: Vec<_> = found.outcomes.difference(&row.outcomes).collect();
            wrong.push(format!(
                "{} {}: {counts:?} (blocked {}) instead of {}, missing {missing:?}, extra {extra:?}",
                row.name, row.memory_model, found.counts.blocked, row.executions
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn random_thread(random: &mut Seeded, thread: usize, length: usize) -> Vec<Statement> {
    use MemoryOrder::*;
    let strengths = [Relaxed, Relaxed, SequentiallyConsistent];
    let mut code = Vec::new();
    for position in 0..length {
        let register = format!("r{thread}{position}");
        let variable = random.of(&["x", "y"]).to_string();
        let either = *random.of(&strengths);
        let value = 1 + random.below(2) as i64;
        code.push(match random.below(12) {
            0..=2 => Statement::Load(register, variable, *random.of(&[Relaxed, Acquire, either])),
            3..=6 => {
                let value = if random.below(4) == 0 && position > 0 {
                    Value::Register(format!("r{thread}{}", position - 1), 1)
                } else {
                    Value::Constant(value)
                };
                Statement::Store(variable, value, *random.of(&[Relaxed, Release, either]))
            }
            7 => Statement::FetchAdd(
                register,
                variable,
                1,
                *random.of(&[Relaxed, AcquireRelease, Acquire, Release, either]),
            ),
            8 => Statement::CompareExchange(register, variable, value - 1, 2, *random.of(&[AcquireRelease, either])),
            9 => Statement::Exchange(register, variable, value, either),
            10 => Statement::Fence(*random.of(&[Acquire, Release, AcquireRelease, SequentiallyConsistent])),
            _ if position > 0 => {
                let condition = vec![(format!("r{thread}{}", position - 1), value - 1)];
                Statement::If(condition, vec![Statement::Store(variable, Value::Constant(2), either)])
            }
            _ => Statement::Load(register, variable, either),
        });
    }
    code
}

/// The same with values that are drawn and symbolic conditions between the operations.
fn random_branching_thread(random: &mut Seeded, thread: usize, length: usize) -> Vec<Statement> {
    let mut code = Vec::new();
    for (position, statement) in random_thread(random, thread, length).into_iter().enumerate() {
        code.push(statement);
        let register = format!("d{thread}{position}");
        match random.below(8) {
            0 => code.push(Statement::Choose(register, 2)),
            kind @ 1..=4 => {
                code.push(Statement::Branch(register.clone(), random.below(u64::from(CONDITIONS)) as u32));
                if kind < 3 {
                    let order = *random.of(&[MemoryOrder::Relaxed, MemoryOrder::SequentiallyConsistent]);
                    let store = Statement::Store(random.of(&["x", "y"]).to_string(), Value::Constant(1), order);
                    code.push(Statement::If(vec![(register, random.below(2) as i64)], vec![store]));
                }
            }
            _ => {}
        }
    }
    code
}

/// Two or three threads, a few operations: what brute force can enumerate.
fn compare_with_brute_force(algorithm: &str, usual: u64, shapes: &[&[usize]], thread_of: ThreadOf) {
    let count = programs(usual);
    let variables = ["x".to_owned(), "y".to_owned()];
    for seed in 1..=count {
        let mut random = Seeded::salted(seed, 0x9e37_79b9_7f4a_7c15);
        random.below(2);
        let lengths = random.of(shapes);
        let threads: Vec<Vec<Statement>> =
            lengths.iter().enumerate().map(|(thread, length)| thread_of(&mut random, thread, *length)).collect();
        let registers: Vec<String> = (0..threads.len())
            .flat_map(|thread| {
                (0..8).map(move |position| format!("{}{thread}{}", ["r", "d"][position / 4], position % 4))
            })
            .collect();
        for memory_model in ["sc", "tso", "pso", "rc11"] {
            let expected = enumerate(&threads, &variables, &registers, &[0, 1, 2, 3, 4], memory_model);
            let found = explore_litmus(&threads, &registers, algorithm, memory_model).expect("a small program");
            let context = format!("seed {seed}, {memory_model}: {threads:?}");
            assert_eq!(found.outcomes, expected.outcomes, "outcomes, {context}");
            assert_eq!((found.counts.executions, found.counts.redundant), (expected.graphs, 0), "graphs, {context}");
            let found = explore_classes(&threads, &registers, algorithm, memory_model).expect("a small program");
            let classes = (found.counts.executions, found.counts.redundant);
            assert_eq!(found.outcomes, expected.outcomes, "outcomes of classes, {context}");
            assert_eq!(classes, (expected.reads_from_classes, 0), "classes, {context}");
        }
    }
}

type ThreadOf = fn(&mut Seeded, usize, usize) -> Vec<Statement>;

#[test]
fn random_programs_have_the_graphs_that_brute_force_enumerates() {
    compare_with_brute_force("graph", 1000, &[&[3, 3], &[2, 3], &[2, 2, 1], &[1, 2, 2], &[4, 1]], random_thread);
}

#[test]
fn random_symbolic_programs_have_the_graphs_that_brute_force_enumerates() {
    compare_with_brute_force("concolic", 250, &[&[2, 2], &[3, 2], &[2, 1, 1], &[1, 1, 1]], random_branching_thread);
}
