//! Models that keep part of program order for everybody and have one order of all writes: sequential consistency, TSO
//! and PSO, in the axiomatic form of Alglave, Maranget and Tautschnig, "Herding Cats" (TOPLAS'14), section 4.
//!
//! A graph is consistent if it is coherent at each location, and if preserved program order, reads-from between
//! threads, coherence and from-reads have no cycle. Read-modify-writes, compare-exchanges that fail and operations on
//! objects are fences; a seq_cst store is followed by one, and under PSO a release store is preceded by a store
//! barrier.

use rustc_hash::FxHashMap;

use super::bits::Relation;
use super::{is_atomic, Consistency, Kind, Node};
use crate::operation::{MemoryOrder, ThreadId};

pub struct Sequential;
pub struct TotalStoreOrder;
pub struct PartialStoreOrder;

impl Consistency for Sequential {
    fn allows(&self, graph: &[Node]) -> bool {
        allows(graph, |_, _| true)
    }
}

impl Consistency for TotalStoreOrder {
    fn allows(&self, graph: &[Node]) -> bool {
        allows(graph, |first, second| {
            let (first, second) = (&graph[first], &graph[second]);
            let delayed = may_be_delayed(first) && second.kind == Kind::Read && !second.fails;
            !(is_weak_fence(first) || is_weak_fence(second) || delayed)
        })
    }
}

impl Consistency for PartialStoreOrder {
    fn allows(&self, graph: &[Node]) -> bool {
        let barriers = barriers(graph);
        allows(graph, |earlier, later| {
            let (first, second) = (&graph[earlier], &graph[later]);
            // A store barrier is between stores only.
            if is_weak_fence(first) || is_weak_fence(second) {
                return is_barrier(first) && second.writes() || first.writes() && is_barrier(second);
            }
            if !may_be_delayed(first) {
                return true;
            }
            match second.kind {
                Kind::Read => second.fails,
                Kind::Write => barriers[earlier] < barriers[later] || first.location == second.location,
                Kind::Update | Kind::Fence | Kind::Other | Kind::Local => true,
            }
        })
    }
}

/// A fence that is not seq_cst.
fn is_weak_fence(node: &Node) -> bool {
    node.kind == Kind::Fence && node.order != MemoryOrder::SequentiallyConsistent
}

fn is_barrier(node: &Node) -> bool {
    node.kind == Kind::Fence && node.releases()
}

/// How many release stores there are in the thread of each event up to it: each is preceded by a store barrier, which
/// separates all stores before it from all after it.
fn barriers(graph: &[Node]) -> Vec<u32> {
    let mut of_thread: FxHashMap<ThreadId, u32> = FxHashMap::default();
    let count = |node: &Node| {
        let so_far = of_thread.entry(node.thread).or_default();
        *so_far += u32::from(node.kind == Kind::Write && node.releases());
        *so_far
    };
    graph.iter().map(count).collect()
}

/// Whether what follows in the thread need not wait for it: a store that stays in a buffer.
fn may_be_delayed(node: &Node) -> bool {
    node.kind == Kind::Write && !node.is_sequentially_consistent()
}

/// Whether the graph is coherent, and has no cycle of global happens-before. `keeps` tells whether two events of a
/// thread take place for everybody in this order.
fn allows(graph: &[Node], keeps: impl Fn(usize, usize) -> bool) -> bool {
    if !is_atomic(graph) {
        return false;
    }
    let mut order = Relation::new(graph.len());
    let mut before = Relation::new(graph.len());
    for (position, node) in graph.iter().enumerate() {
        for &predecessor in &node.predecessors {
            before.join(position, predecessor);
            before.set(position, predecessor);
        }
        for (earlier, other) in graph[..position].iter().enumerate() {
            if !before.has(position, earlier) {
                continue;
            }
            // Coherence: what comes first in the thread is not later at the location.
            if node.precedes_at_location(other) {
                return false;
            }
            // What is local to a thread waits for nothing; what comes before it and after it is ordered directly.
            if node.kind == Kind::Local || other.kind == Kind::Local {
                continue;
            }
            // Between threads, an operation on an object, a spawn or a join waits for all that comes before it, and all
            // that comes after it waits for it.
            let in_order = match other.thread == node.thread {
                true => keeps(earlier, position),
                false => other.kind == Kind::Other || node.kind == Kind::Other,
            };
            if in_order {
                order.set(earlier, position);
            }
        }
        if let Some(source) = node.source {
            if graph[source].thread != node.thread {
                order.set(source, position);
            }
        }
    }
    for (position, node) in graph.iter().enumerate() {
        for (other_position, other) in graph.iter().enumerate() {
            let from = node.writes() || node.reads();
            if position != other_position && from && other.writes() && node.precedes_at_location(other) {
                order.set(position, other_position);
            }
        }
    }
    order.is_acyclic()
}
