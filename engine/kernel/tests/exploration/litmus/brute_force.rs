//! All consistent execution graphs of a small program by brute force: every value that a load could get, every
//! reads-from, every coherence order, and the definitions of the memory models in relational algebra, word for word.

use std::collections::BTreeSet;

use _kernel::operation::MemoryOrder;

use super::{are_satisfiable, Statement, Value};

#[derive(Clone, Debug)]
struct Event {
    /// 0 for the initial writes.
    thread: usize,
    variable: Option<String>,
    read: Option<i64>,
    written: Option<i64>,
    order: MemoryOrder,
    fence: bool,
    /// A compare-exchange, whether it takes place or not.
    exchange: bool,
}

type Matrix = Vec<Vec<bool>>;
/// A symbolic condition, and whether it was taken to hold.
type Literal = (u32, bool);

/// What a thread did and decided, and its registers at the end.
#[derive(Clone, Default)]
struct Run {
    events: Vec<Event>,
    registers: Vec<(String, i64)>,
    literals: Vec<Literal>,
}

fn relation(size: usize, holds: impl Fn(usize, usize) -> bool) -> Matrix {
    (0..size).map(|one| (0..size).map(|other| holds(one, other)).collect()).collect()
}

fn union(all: &[&Matrix]) -> Matrix {
    relation(all[0].len(), |one, other| all.iter().any(|matrix| matrix[one][other]))
}

fn then(first: &Matrix, second: &Matrix) -> Matrix {
    relation(first.len(), |one, other| (0..first.len()).any(|middle| first[one][middle] && second[middle][other]))
}

fn optional(matrix: &Matrix) -> Matrix {
    relation(matrix.len(), |one, other| one == other || matrix[one][other])
}

fn closure(matrix: &Matrix) -> Matrix {
    let mut closed = matrix.clone();
    for middle in 0..matrix.len() {
        for one in 0..matrix.len() {
            for other in 0..matrix.len() {
                closed[one][other] |= closed[one][middle] && closed[middle][other];
            }
        }
    }
    closed
}

fn is_irreflexive(matrix: &Matrix) -> bool {
    (0..matrix.len()).all(|event| !matrix[event][event])
}

fn is_acyclic(matrix: &Matrix) -> bool {
    is_irreflexive(&closure(matrix))
}

fn only(size: usize, holds: impl Fn(usize) -> bool) -> Matrix {
    relation(size, |one, other| one == other && holds(one))
}

/// The outcomes (registers as they end, by thread) and what each thread did, for every choice of values.
fn runs(code: &[Statement], thread: usize, values: &[i64], run: Run, found: &mut Vec<Run>) {
    let Some((first, rest)) = code.split_first() else {
        found.push(run);
        return;
    };
    let get = |name: &str| run.registers.iter().rev().find(|(one, _)| one == name).map_or(0, |(_, value)| *value);
    let event = |variable: &str, read, written, order| Event {
        thread,
        variable: Some(variable.to_owned()),
        read,
        written,
        order,
        fence: false,
        exchange: false,
    };
    let mut go_on = |new: Option<Event>, set: Option<(String, i64)>| {
        let mut run = run.clone();
        run.events.extend(new);
        run.registers.extend(set);
        runs(rest, thread, values, run, found);
    };
    match first {
        Statement::Store(variable, value, order) => {
            let value = match value {
                Value::Constant(value) => *value,
                Value::Register(register, plus) => get(register) + plus,
            };
            go_on(Some(event(variable, None, Some(value), *order)), None);
        }
        Statement::Fence(order) => {
            let fence = Event {
                thread,
                variable: None,
                read: None,
                written: None,
                order: *order,
                fence: true,
                exchange: false,
            };
            go_on(Some(fence), None);
        }
        Statement::Local(register, value) => go_on(None, Some((register.clone(), *value))),
        Statement::If(condition, body) => {
            let holds = condition.iter().any(|(register, value)| get(register) == *value);
            let code: Vec<Statement> = if holds { body.iter().chain(rest).cloned().collect() } else { rest.to_vec() };
            runs(&code, thread, values, run, found);
        }
        Statement::Choose(register, count) => {
            for value in 0..*count {
                go_on(None, Some((register.clone(), value)));
            }
        }
        Statement::Branch(register, condition) => {
            for taken in [true, false] {
                let mut run = run.clone();
                run.literals.push((*condition, taken));
                run.registers.push((register.clone(), i64::from(taken)));
                runs(rest, thread, values, run, found);
            }
        }
        Statement::Load(register, variable, order) => {
            for value in values {
                go_on(Some(event(variable, Some(*value), None, *order)), Some((register.clone(), *value)));
            }
        }
        Statement::FetchAdd(register, variable, plus, order) => {
            for value in values {
                let update = event(variable, Some(*value), Some(value + plus), *order);
                go_on(Some(update), Some((register.clone(), *value)));
            }
        }
        Statement::Exchange(register, variable, new, order) => {
            for value in values {
                go_on(Some(event(variable, Some(*value), Some(*new), *order)), Some((register.clone(), *value)));
            }
        }
        Statement::CompareExchange(register, variable, expected, desired, order) => {
            for value in values {
                let written = (value == expected).then_some(*desired);
                let tried = Event { exchange: true, ..event(variable, Some(*value), written, *order) };
                go_on(Some(tried), Some((register.clone(), *value)));
            }
        }
        Statement::Assume(_) | Statement::Spawn(_) | Statement::Join(_) => panic!("not in random programs"),
    }
}

/// What brute force finds: graphs, classes of reads-from, and outcomes.
#[derive(Default, Debug)]
pub struct Enumerated {
    pub graphs: u64,
    pub reads_from_classes: u64,
    pub outcomes: BTreeSet<Vec<i64>>,
}

/// All consistent graphs under a memory model. `values` are all that a load could possibly get.
pub fn enumerate(
    threads: &[Vec<Statement>],
    variables: &[String],
    registers: &[String],
    values: &[i64],
    memory_model: &str,
) -> Enumerated {
    let mut all: Vec<Vec<Run>> = Vec::new();
    for (index, code) in threads.iter().enumerate() {
        let mut found = Vec::new();
        runs(code, index + 1, values, Run::default(), &mut found);
        all.push(found);
    }
    let mut enumerated = Enumerated::default();
    let mut choice = vec![0; all.len()];
    loop {
        let mut events: Vec<Event> = variables
            .iter()
            .map(|variable| Event {
                thread: 0,
                variable: Some(variable.clone()),
                read: None,
                written: Some(0),
                order: MemoryOrder::Relaxed,
                fence: false,
                exchange: false,
            })
            .collect();
        let mut known: Vec<(String, i64)> = Vec::new();
        let mut literals: Vec<Literal> = Vec::new();
        for (thread, which) in choice.iter().enumerate() {
            let run = &all[thread][*which];
            events.extend(run.events.iter().cloned());
            known.extend(run.registers.iter().cloned());
            literals.extend(run.literals.iter().copied());
        }
        let outcome: Vec<i64> = registers
            .iter()
            .map(|name| known.iter().rev().find(|(one, _)| one == name).map_or(0, |(_, value)| *value))
            .collect();
        if are_satisfiable(&literals) {
            choose_sources(&events, &mut Vec::new(), &mut |sources| {
                let mut graphs = 0;
                choose_orders(&events, variables, &mut Vec::new(), &mut |order| {
                    graphs += u64::from(allows(&events, sources, order, memory_model));
                });
                if graphs > 0 {
                    enumerated.graphs += graphs;
                    enumerated.reads_from_classes += 1;
                    enumerated.outcomes.insert(outcome.clone());
                }
            });
        }
        let Some(position) = (0..choice.len()).find(|thread| choice[*thread] + 1 < all[*thread].len()) else {
            return enumerated;
        };
        choice[..position].fill(0);
        choice[position] += 1;
    }
}

fn choose_sources(events: &[Event], sources: &mut Vec<Option<usize>>, seen: &mut dyn FnMut(&[Option<usize>])) {
    let Some(event) = events.get(sources.len()) else {
        seen(sources);
        return;
    };
    if event.read.is_none() {
        sources.push(None);
        choose_sources(events, sources, seen);
        sources.pop();
        return;
    }
    for (position, other) in events.iter().enumerate() {
        if position != sources.len() && other.variable == event.variable && other.written == event.read {
            sources.push(Some(position));
            choose_sources(events, sources, seen);
            sources.pop();
        }
    }
}

/// Every total order of the writes of each variable, the initial one first.
fn choose_orders(
    events: &[Event],
    variables: &[String],
    orders: &mut Vec<Vec<usize>>,
    seen: &mut dyn FnMut(&[Vec<usize>]),
) {
    let Some(variable) = variables.get(orders.len()) else {
        seen(orders);
        return;
    };
    let writes: Vec<usize> = (0..events.len())
        .filter(|event| events[*event].variable.as_ref() == Some(variable) && events[*event].written.is_some())
        .collect();
    let mut all = Vec::new();
    permute(&writes[1..], &mut vec![writes[0]], &mut all);
    for order in all {
        orders.push(order);
        choose_orders(events, variables, orders, seen);
        orders.pop();
    }
}

fn permute(left: &[usize], taken: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if left.is_empty() {
        all.push(taken.clone());
    }
    for (position, next) in left.iter().enumerate() {
        let rest: Vec<usize> = [&left[..position], &left[position + 1..]].concat();
        taken.push(*next);
        permute(&rest, taken, all);
        taken.pop();
    }
}

fn allows(events: &[Event], sources: &[Option<usize>], orders: &[Vec<usize>], memory_model: &str) -> bool {
    let size = events.len();
    let po = relation(size, |one, other| {
        one < other
            && (events[one].thread == events[other].thread && events[one].thread > 0
                || events[one].thread == 0 && events[other].thread > 0)
    });
    let rf = relation(size, |one, other| sources[other] == Some(one));
    let co = relation(size, |one, other| {
        orders.iter().any(|order| {
            let place = |event| order.iter().position(|other| *other == event);
            matches!((place(one), place(other)), (Some(first), Some(second)) if first < second)
        })
    });
    let inverse = relation(size, |one, other| rf[other][one]);
    let rb =
        relation(size, |one, other| one != other && (0..size).any(|write| inverse[one][write] && co[write][other]));
    let is_update = |event: usize| events[event].read.is_some() && events[event].written.is_some();
    let located = |event: usize| events[event].variable.is_some();
    let same = relation(size, |one, other| located(one) && events[one].variable == events[other].variable);
    // Atomicity: nothing between what an update reads and what it writes.
    let split = then(&rb, &co);
    if !is_irreflexive(&split) || (0..size).any(|event| is_update(event) && rf[event][event]) {
        return false;
    }
    if !is_acyclic(&union(&[&po, &rf])) {
        return false;
    }
    let within = relation(size, |one, other| po[one][other] && same[one][other]);
    if !is_acyclic(&union(&[&within, &rf, &co, &rb])) {
        return false;
    }
    let outside = relation(size, |one, other| rf[one][other] && events[one].thread != events[other].thread);
    let is_fence =
        |event: usize, at_least: &dyn Fn(MemoryOrder) -> bool| events[event].fence && at_least(events[event].order);
    let seq = |order: MemoryOrder| order == MemoryOrder::SequentiallyConsistent;
    let rel =
        |order: MemoryOrder| seq(order) || order == MemoryOrder::Release || order == MemoryOrder::AcquireRelease;
    let acq =
        |order: MemoryOrder| seq(order) || order == MemoryOrder::Acquire || order == MemoryOrder::AcquireRelease;
    let reads = |event: usize| events[event].read.is_some();
    let writes = |event: usize| events[event].written.is_some();
    match memory_model {
        "sc" => is_acyclic(&union(&[&po, &rf, &co, &rb])),
        "tso" | "pso" => {
            let pure_write = |event: usize| writes(event) && !reads(event);
            let pure_read = |event: usize| reads(event) && !writes(event);
            let access = |event: usize| reads(event) || writes(event);
            // A full fence is before a position if it is a fence, an update, or what follows a seq_cst store.
            let fenced = relation(size, |one, other| {
                po[one][other]
                    && (0..size).any(|middle| {
                        let strong = is_fence(middle, &seq) || is_update(middle) || events[middle].exchange;
                        (strong && (one == middle || po[one][middle]) && (middle == other || po[middle][other]))
                            || (pure_write(middle)
                                && seq(events[middle].order)
                                && (one == middle || po[one][middle])
                                && po[middle][other])
                    })
            });
            let barrier = relation(size, |one, other| {
                po[one][other]
                    && pure_write(one)
                    && writes(other)
                    && (0..size).any(|middle| {
                        // A release store is preceded by a barrier.
                        let releases = pure_write(middle) && rel(events[middle].order);
                        po[one][middle]
                            && (releases && middle == other
                                || (releases || is_fence(middle, &rel)) && po[middle][other])
                    })
            });
            let ppo = relation(size, |one, other| {
                po[one][other]
                    && access(one)
                    && access(other)
                    && !(pure_write(one) && pure_read(other))
                    && !(memory_model == "pso" && pure_write(one) && pure_write(other) && !same[one][other])
            });
            is_acyclic(&union(&[&ppo, &fenced, &barrier, &outside, &co, &rb]))
        }
        _ => {
            let eco = closure(&union(&[&rf, &co, &rb]));
            let update_reads = relation(size, |one, other| rf[one][other] && is_update(other));
            let sequence = then(&only(size, writes), &optional(&closure(&update_reads)));
            let release = only(size, |event| rel(events[event].order));
            let acquire = only(size, |event| acq(events[event].order));
            let fences = only(size, |event| events[event].fence);
            let from_fence = union(&[&only(size, |_| true), &then(&fences, &po)]);
            let to_fence = union(&[&only(size, |_| true), &then(&po, &fences)]);
            let sw = then(&then(&then(&then(&then(&release, &from_fence), &sequence), &rf), &to_fence), &acquire);
            let hb = closure(&union(&[&po, &sw]));
            if !is_irreflexive(&then(&hb, &optional(&eco))) {
                return false;
            }
            let elsewhere = relation(size, |one, other| po[one][other] && !same[one][other]);
            let hb_here = relation(size, |one, other| hb[one][other] && same[one][other]);
            let long = then(&then(&elsewhere, &hb), &elsewhere);
            let scb = union(&[&po, &long, &hb_here, &co, &rb]);
            let sc_event = only(size, |event| seq(events[event].order));
            let sc_fence = only(size, |event| is_fence(event, &seq));
            let begin = union(&[&sc_event, &then(&sc_fence, &optional(&hb))]);
            let end = union(&[&sc_event, &then(&optional(&hb), &sc_fence)]);
            let base = then(&then(&begin, &scb), &end);
            let around = union(&[&hb, &then(&then(&hb, &eco), &hb)]);
            let fences = then(&then(&sc_fence, &around), &sc_fence);
            is_acyclic(&union(&[&base, &fences]))
        }
    }
}
