//! Consistency predicates: which execution graphs a memory model allows. One file a kind of model.
//!
//! A graph is given whole, its events in an order in which each comes after what it reads from. The predicates are
//! those of the papers, evaluated from scratch; what makes that cheap enough is that graphs of relaxed models are
//! small.

mod bits;
mod preserved_order;
mod rc11;
mod reads_from;

use smallvec::SmallVec;

pub use preserved_order::{PartialStoreOrder, Sequential, TotalStoreOrder};
pub use rc11::Rc11;
pub use reads_from::ReadsFrom;

use crate::operation::{LocationId, MemoryOrder, ThreadId};

/// What an event is to a memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Read,
    Write,
    /// A read-modify-write that took place.
    Update,
    Fence,
    /// Spawning, joining, an operation on a lock or a container: ordered with all that it is ordered with.
    Other,
    /// A drawn value, a symbolic branch, a failed assumption: what a thread does with itself alone.
    Local,
}

/// An event of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    pub thread: ThreadId,
    pub kind: Kind,
    pub location: LocationId,
    pub order: MemoryOrder,
    /// The write that it reads from; None for the initial value.
    pub source: Option<usize>,
    /// For a write its position in the coherence order of its location, from 1; for a read that of its source, with 0
    /// for the initial value.
    pub place: u32,
    /// Whether it is a compare-exchange that failed: a read, but one that waits for the stores of its thread where
    /// there are store buffers.
    pub fails: bool,
    /// The events that precede it directly in program order, or because of spawn, join and operations on objects.
    pub predecessors: SmallVec<[usize; 3]>,
}

impl Node {
    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Update)
    }

    pub fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Update)
    }

    pub fn is_sequentially_consistent(&self) -> bool {
        self.order == MemoryOrder::SequentiallyConsistent && self.kind != Kind::Other
    }

    pub fn acquires(&self) -> bool {
        self.order.acquires()
    }

    pub fn releases(&self) -> bool {
        self.order.releases()
    }

    /// Whether both access one location, in coherence order or from-read order if the second comes later: `eco` from
    /// the first to the second.
    pub fn precedes_at_location(&self, other: &Node) -> bool {
        if self.location != other.location || self.location == LocationId::NONE {
            return false;
        }
        match (self.writes(), other.writes()) {
            (true, false) => self.place <= other.place,
            _ => self.place < other.place,
        }
    }
}

/// A memory model.
pub trait Consistency {
    /// Whether the model allows the graph.
    fn allows(&self, graph: &[Node]) -> bool;

    /// Whether graphs that differ in the coherence order alone are different graphs.
    fn orders_writes(&self) -> bool {
        true
    }
}

/// Whether every read-modify-write comes directly after what it reads from in coherence order.
pub fn is_atomic(graph: &[Node]) -> bool {
    graph.iter().filter(|node| node.kind == Kind::Update).all(|node| {
        let source = node.source.map_or(0, |source| graph[source].place);
        source + 1 == node.place
    })
}

/// The predicate of a memory model; None if there is none of that name.
pub fn named(memory_model: &str) -> Option<Box<dyn Consistency>> {
    Some(match memory_model {
        "sc" => Box::new(Sequential),
        "tso" => Box::new(TotalStoreOrder),
        "pso" => Box::new(PartialStoreOrder),
        "rc11" => Box::new(Rc11),
        _ => return None,
    })
}
