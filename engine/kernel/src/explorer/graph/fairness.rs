//! Loops that only look, where reads-from is chosen: whether they would go on for ever.
//!
//! A thread that reads the same in every round need not do so for ever: sooner or later every write reaches every
//! thread. It does if what it read is the last write of each location in some coherence order that the memory model
//! allows, which is so if somebody who comes after everything could read the same ("Awaiting for Godot", FMCAD'22,
//! section 2; Lahav, Namakonov, Oberhauser, Podkopaev, Vafeiadis, "Making Weak Memory Models Fair", OOPSLA'21).

use super::consistency::{Consistency, Kind, Node};
use super::plan::Name;
use super::relaxed::{graph, is_relaxed, wrote};
use super::Graph;
use crate::execution::{Event, Execution};
use crate::operation::{EventId, LocationId, MemoryOrder, ThreadId};

/// What a location may hold for ever: one of these writes (or the initial value), which all left the same.
struct Final {
    location: LocationId,
    candidates: Vec<Option<usize>>,
}

impl Graph {
    /// Whether all of `loads` read what is there in the end. A write among `silent` leaves what it reads.
    pub fn can_be_last(&self, execution: &Execution, loads: &[EventId], silent: &[EventId]) -> bool {
        let Some(consistency) = &self.consistency else { return true };
        let root = |mut id: EventId| {
            while id != EventId::NONE && silent.contains(&id) {
                id = execution.event(id).reads.unwrap_or(EventId::NONE);
            }
            id
        };
        let mut finals: Vec<(LocationId, EventId)> = Vec::new();
        for load in loads.iter().map(|id| execution.event(*id)).filter(|event| is_relaxed(event)) {
            let read = root(load.reads.unwrap_or(EventId::NONE));
            match finals.iter().find(|(location, _)| *location == load.operation.target) {
                Some((_, known)) if *known != read => return false,
                Some(_) => {}
                None => finals.push((load.operation.target, read)),
            }
        }
        let events: Vec<&Event> = execution.events().iter().collect();
        let finals: Vec<Final> = finals
            .into_iter()
            .map(|(location, read)| {
                let writes = events.iter().filter(|event| {
                    is_relaxed(event) && event.operation.target == location && wrote(event) && root(event.id) == read
                });
                let mut candidates: Vec<Option<usize>> = writes.map(|event| Some(event.id.index())).collect();
                candidates.extend((read == EventId::NONE).then_some(None));
                Final { location, candidates }
            })
            .collect();
        let name = |id: EventId| (execution.event(id).thread, execution.event(id).index);
        let reads: Vec<Option<Option<Name>>> = events
            .iter()
            .map(|event| event.reads.map(|write| (write != EventId::NONE).then(|| name(write))))
            .collect();
        let mut coherence = super::relaxed::Coherence::default();
        for event in events.iter().filter(|event| is_relaxed(event) && wrote(event)) {
            let order = self.trace.coherence.get(&event.operation.target);
            coherence
                .entry(event.operation.target)
                .or_insert_with(|| order.into_iter().flatten().map(|id| name(*id)).collect::<Vec<_>>());
        }
        settles(&mut graph(&events, &reads, &coherence), events.len(), &finals, &**consistency)
    }
}

/// Whether some choice of final writes is allowed, where a reader comes after all of the first `length` events.
fn settles(nodes: &mut Vec<Node>, length: usize, finals: &[Final], consistency: &dyn Consistency) -> bool {
    let Some((last, rest)) = finals.split_first() else { return consistency.allows(nodes) };
    last.candidates.iter().any(|source| {
        nodes.push(Node {
            thread: ThreadId(u32::MAX),
            kind: Kind::Read,
            location: last.location,
            order: MemoryOrder::Relaxed,
            source: *source,
            place: source.map_or(0, |source| nodes[source].place),
            fails: false,
            predecessors: (0..length).collect(),
        });
        let settles = settles(nodes, length, rest, consistency);
        nodes.pop();
        settles
    })
}
