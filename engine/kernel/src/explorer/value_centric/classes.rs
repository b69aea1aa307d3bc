//! The class of a trace, computed from the trace itself as the equivalence is defined (section 3): its events, the
//! value of each, the side of each read of the root, and which reads causally happen before each read.
//!
//! The third condition of the paper, one order of the leaves' conflicting events, is not part of it: traces that
//! differ in that alone have the same local states, and are told apart only where a read sees the difference. The
//! paper's implementation leaves most such orders open too (section 6, implementation detail 3). What reads several
//! variables at once, which the paper does not have, is told apart by the writes that it observes.

use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;

use super::events::{join_past, trimmed, EventIndex, Events, Past, INITIAL};
use super::extend::is_local;
use crate::operation::{LocationId, ThreadId};

/// A number that two traces share if they are in one class.
pub fn class_of(events: &Events, trace: &[EventIndex], root: Option<ThreadId>) -> u128 {
    let mut last: FxHashMap<LocationId, EventIndex> = FxHashMap::default();
    let mut pasts: Vec<Past> = vec![Past::new(); events.len()];
    let mut sum = 0u128;
    for &event in trace {
        let vertex = events.get(event);
        let mut past = Past::new();
        for &predecessor in &vertex.predecessors {
            join_past(&mut past, &pasts[predecessor as usize]);
        }
        let mut read = Vec::new();
        for observation in &vertex.reads {
            let source = last.get(&observation.location).copied().unwrap_or(INITIAL);
            let local = Some(vertex.thread) == root && is_local(events, root, source);
            let seen = match vertex.reads.len() {
                1 => Ok(events.value(source, observation.location)),
                _ => Err(events.identity(source)),
            };
            read.push((seen, local));
            if source != INITIAL {
                join_past(&mut past, &pasts[source as usize]);
            }
        }
        if vertex.is_read {
            let own = vertex.thread.index();
            past.resize(past.len().max(own + 1), 0);
            past[own] = vertex.index + 1;
        }
        let past = trimmed(past);
        let seen = vertex.is_read.then_some(past.as_slice());
        let wrote: Vec<_> = vertex.writes.iter().map(|location| (*location, vertex.value(*location))).collect();
        let what = (vertex.thread, vertex.index, vertex.operation, vertex.outcome);
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, what, &read, &wrote, seen).hash(&mut hasher);
            hasher.finish()
        };
        sum = sum.wrapping_add(u128::from(hash(0x9e37_79b9)) << 64 | u128::from(hash(0x85eb_ca6b_c2b2_ae35)));
        for location in &vertex.writes {
            last.insert(*location, event);
        }
        pasts[event as usize] = past;
    }
    sum
}
