//! Where values are kept and where loads get them, under each memory model; and how a write is taken back.

use rustc_hash::FxHashSet;

use crate::operation::{EventId, LocationId};
use crate::python::heap::chosen_reads::ChosenReads;
use crate::python::heap::undo::Undo;
use crate::python::heap::weak_memory::WeakMemory;

pub mod chosen_items;
pub mod chosen_reads;
pub mod place;
pub mod undo;
pub mod weak_memory;

/// The values of the running execution that the interpreter's own heap does not have.
#[derive(Default)]
pub struct Heap {
    /// Those of stores that are still in store buffers.
    pub weak: WeakMemory,
    /// Those of all stores, where reads-from is chosen.
    pub reads: ChosenReads,
    /// Where reads-from is chosen: lists and dicts whose items are not such places.
    pub keeps_order: FxHashSet<LocationId>,
    /// What the visible writes of this execution replaced, by event.
    pub undo: Vec<(EventId, Undo)>,
    /// While a predicate is evaluated as of a former moment: the event before which that is.
    pub as_of: Option<EventId>,
}
