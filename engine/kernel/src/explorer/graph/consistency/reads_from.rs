//! Graphs without a coherence order: one is allowed if some coherence order makes it so.
//!
//! The search puts one write after another into the order of its location, in the order of the graph's events, and goes on
//! as long as the model allows the graph so far, which it can since the models are prefix-closed. In the worst case it
//! takes exponential time, as the problem demands (Gibbons and Korach, "Testing Shared Memories", SIAM J. Comput. 1997).

use rustc_hash::FxHashMap;

use super::{Consistency, Kind, Node};
use crate::operation::LocationId;

pub struct ReadsFrom(pub Box<dyn Consistency>);

impl Consistency for ReadsFrom {
    fn allows(&self, graph: &[Node]) -> bool {
        self.extend(graph.to_vec(), 0, &mut FxHashMap::default())
    }

    fn orders_writes(&self) -> bool {
        false
    }
}

impl ReadsFrom {
    /// Whether the events from `position` on can be added to those before it, whose writes have their places.
    fn extend(
        &self,
        mut graph: Vec<Node>,
        mut position: usize,
        orders: &mut FxHashMap<LocationId, Vec<usize>>,
    ) -> bool {
        while position < graph.len() && !graph[position].writes() {
            graph[position].place = graph[position].source.map_or(0, |source| graph[source].place);
            position += 1;
        }
        if !self.0.allows(&graph[..position]) {
            return false;
        }
        let Some(node) = graph.get(position) else { return true };
        let (location, kind, source) = (node.location, node.kind, node.source);
        let length = orders.get(&location).map_or(0, Vec::len);
        let places = match kind {
            // Directly after what it reads from.
            Kind::Update => {
                let place = source.map_or(0, |source| graph[source].place as usize);
                place..place + 1
            }
            _ => 0..length + 1,
        };
        for place in places.rev() {
            let order = orders.entry(location).or_default();
            order.insert(place, position);
            for (place, write) in order.iter().enumerate() {
                graph[*write].place = place as u32 + 1;
            }
            for read in 0..position {
                if graph[read].kind == Kind::Read && graph[read].location == location {
                    graph[read].place = graph[read].source.map_or(0, |source| graph[source].place);
                }
            }
            if self.0.allows(&graph[..=position]) && self.extend(graph.clone(), position + 1, orders) {
                return true;
            }
            if let Some(order) = orders.get_mut(&location) {
                order.remove(place);
            }
        }
        false
    }
}
