//! RC11: Lahav, Vafeiadis, Kang, Hur and Dreyer, "Repairing Sequential Consistency in C/C++11" (PLDI'17), section 3,
//! with the release sequences of C++20 (a write and the read-modify-writes that read from it in turn).
//!
//! Out-of-thin-air reads are excluded by the exploration itself, which adds a read after the write that it reads from.

use super::bits::Relation;
use super::{is_atomic, Consistency, Kind, Node};
use crate::operation::LocationId;

pub struct Rc11;

impl Consistency for Rc11 {
    fn allows(&self, graph: &[Node]) -> bool {
        if !is_atomic(graph) {
            return false;
        }
        let before = happens_before(graph);
        is_coherent(graph, &before) && is_sequentially_consistent(graph, &before)
    }
}

/// `hb`, as the events before each event.
fn happens_before(graph: &[Node]) -> Relation {
    let mut before = Relation::new(graph.len());
    for (position, node) in graph.iter().enumerate() {
        for &predecessor in &node.predecessors {
            before.join(position, predecessor);
            before.set(position, predecessor);
        }
        if node.reads() && node.acquires() {
            synchronise(graph, &mut before, position, position);
        }
        if node.kind == Kind::Fence && node.acquires() {
            let reads = (0..position).filter(|read| graph[*read].thread == node.thread && graph[*read].reads());
            for read in reads.collect::<Vec<_>>() {
                synchronise(graph, &mut before, read, position);
            }
        }
    }
    before
}

/// `sw` into `to`, through what `read` reads from.
fn synchronise(graph: &[Node], before: &mut Relation, read: usize, to: usize) {
    let mut head = graph[read].source;
    while let Some(write) = head {
        let node = &graph[write];
        if node.releases() {
            before.join(to, write);
            before.set(to, write);
        }
        for (fence, other) in graph[..write].iter().enumerate() {
            if other.kind == Kind::Fence && other.releases() && other.thread == node.thread {
                before.join(to, fence);
                before.set(to, fence);
            }
        }
        head = if node.kind == Kind::Update { node.source } else { None };
    }
}

/// `hb;eco?` has no cycle.
fn is_coherent(graph: &[Node], before: &Relation) -> bool {
    graph.iter().enumerate().all(|(position, node)| {
        (0..position).all(|earlier| !before.has(position, earlier) || !node.precedes_at_location(&graph[earlier]))
    })
}

/// `psc_base ∪ psc_F` has no cycle.
fn is_sequentially_consistent(graph: &[Node], before: &Relation) -> bool {
    let events: Vec<usize> = (0..graph.len()).filter(|event| graph[*event].is_sequentially_consistent()).collect();
    if events.len() < 2 {
        return true;
    }
    let happens = |first: usize, second: usize| before.has(second, first);
    let is_fence = |event: usize| graph[event].kind == Kind::Fence;
    let follows_in_thread =
        |first: usize, second: usize| first < second && graph[first].thread == graph[second].thread;
    let elsewhere = |first: usize, second: usize| {
        let is_local = graph[first].kind == Kind::Local || graph[second].kind == Kind::Local;
        !is_local && (graph[first].location != graph[second].location || graph[first].location == LocationId::NONE)
    };
    let base = |first: usize, second: usize| {
        let (one, other) = (&graph[first], &graph[second]);
        let same_location = one.location == other.location && one.location != LocationId::NONE;
        // `po ∪ hb|loc ∪ co ∪ rb`
        follows_in_thread(first, second)
            || happens(first, second) && same_location
            || other.writes() && one.precedes_at_location(other)
    };
    // `po|≠loc;hb;po|≠loc`. The end of a thread is no event of the graph, but comes after all of the thread and before
    // whatever has joined it.
    let long = |first: usize, second: usize| {
        let leaves: Vec<usize> =
            (0..graph.len()).filter(|event| follows_in_thread(first, *event) && elsewhere(first, *event)).collect();
        let waits = |event: &usize| {
            graph[*event].thread != graph[first].thread && graph[*event].predecessors.contains(&first)
        };
        let joins: Vec<usize> = (first + 1..graph.len()).filter(waits).collect();
        let enters: Vec<usize> =
            (0..graph.len()).filter(|event| follows_in_thread(*event, second) && elsewhere(*event, second)).collect();
        enters.iter().any(|enter| {
            leaves.iter().any(|leave| happens(*leave, *enter))
                || joins.iter().any(|join| join == enter || happens(*join, *enter))
        })
    };
    // What an SC event stands for at the beginning and at the end of `scb`.
    let begins = |event: usize| -> Vec<usize> {
        let after = (0..graph.len()).filter(|other| is_fence(event) && happens(event, *other));
        std::iter::once(event).chain(after).collect()
    };
    let ends = |event: usize| -> Vec<usize> {
        let earlier = (0..graph.len()).filter(|other| is_fence(event) && happens(*other, event));
        std::iter::once(event).chain(earlier).collect()
    };
    let related = |first: usize, second: usize| {
        let ends = ends(second);
        begins(first).into_iter().any(|one| ends.iter().any(|other| base(one, *other) || long(one, *other)))
    };
    let fenced = |first: usize, second: usize| {
        is_fence(first)
            && is_fence(second)
            && (happens(first, second)
                || (0..graph.len()).filter(|one| happens(first, *one)).any(|one| {
                    (0..graph.len())
                        .any(|other| happens(other, second) && graph[one].precedes_at_location(&graph[other]))
                }))
    };
    let mut order = Relation::new(events.len());
    for (row, &first) in events.iter().enumerate() {
        for (column, &second) in events.iter().enumerate() {
            if first != second && (related(first, second) || fenced(first, second)) {
                order.set(row, column);
            }
        }
    }
    order.is_acyclic()
}
