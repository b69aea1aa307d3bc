//! Graphs without a coherence order: one is allowed if some coherence order makes it so.
//!
//! The search puts one write after another into the order of its location, in the order of the graph's events, and goes
//! on as long as the model allows the graph so far, which it can since the models are prefix-closed. It asks the model
//! only where a write has a choice of places. In the worst case it takes exponential time, as the problem demands
//! (Gibbons and Korach, "Testing Shared Memories", SIAM J. Comput. 1997).

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{Consistency, Kind, Node};
use crate::operation::LocationId;

pub struct ReadsFrom(pub Box<dyn Consistency>);

impl Consistency for ReadsFrom {
    fn allows(&self, graph: &[Node]) -> bool {
        self.extend(graph.to_vec(), 0, Orders::default())
    }

    fn orders_writes(&self) -> bool {
        false
    }
}

/// The writes of each location in the order that they were given so far.
type Orders = FxHashMap<LocationId, Vec<usize>>;

impl ReadsFrom {
    /// Whether the events from `position` on can be added to those before it, whose writes have their places.
    fn extend(&self, mut graph: Vec<Node>, mut position: usize, mut orders: Orders) -> bool {
        // Whether the model was asked about the events so far.
        let mut asked = true;
        let places = loop {
            let Some(node) = graph.get(position) else {
                return asked || self.0.allows(&graph);
            };
            if !node.writes() {
                graph[position].place = node.source.map_or(0, |source| graph[source].place);
            } else {
                let places = places(&graph, position, &orders);
                if places.len() != 1 {
                    break places;
                }
                put(&mut graph, position, places.start, &mut orders);
            }
            position += 1;
            asked = false;
        };
        if !asked && !self.0.allows(&graph[..position]) {
            return false;
        }
        for place in places.rev() {
            let (mut graph, mut orders) = (graph.clone(), orders.clone());
            put(&mut graph, position, place, &mut orders);
            if self.0.allows(&graph[..=position]) && self.extend(graph, position + 1, orders) {
                return true;
            }
        }
        false
    }
}

/// The places that a write can have among those of its location before it in the graph.
fn places(graph: &[Node], position: usize, orders: &Orders) -> Range<usize> {
    let node = &graph[position];
    if node.kind == Kind::Update {
        // Directly after what it reads from.
        let place = node.source.map_or(0, |source| graph[source].place as usize);
        return place..place + 1;
    }
    // After what its thread wrote there, or has read from.
    let own = graph[..position].iter().filter(|other| other.thread == node.thread && other.location == node.location);
    let first = own.map(|other| other.place as usize).max().unwrap_or(0);
    first..orders.get(&node.location).map_or(0, Vec::len) + 1
}

/// Put a write at a place of the order of its location.
fn put(graph: &mut [Node], position: usize, place: usize, orders: &mut Orders) {
    let location = graph[position].location;
    let order = orders.entry(location).or_default();
    order.insert(place, position);
    for (place, write) in order.iter().enumerate().skip(place) {
        graph[*write].place = place as u32 + 1;
    }
    if place + 1 == order.len() {
        return;
    }
    for read in 0..position {
        if graph[read].kind == Kind::Read && graph[read].location == location {
            graph[read].place = graph[read].source.map_or(0, |source| graph[source].place);
        }
    }
}
