//! The children of a node that come from what later events show: its read after events that the node does not have.
//!
//! The maximal classes that contain a node are told apart by one read `r` that its trace could take next. If nothing
//! can keep `r` from happening, they are told apart by the causal past of `r`: what it has beside the node is a set of
//! annotated reads, which comes before `r`. If `r` waits for a state (a lock, a semaphore), they are told apart by the
//! next event at that primitive and what causally precedes it; all operations on a primitive observe one another, so
//! there is one next event, and one there is, as `r` can happen. Either way every class is in exactly one child, and
//! every child that has a witness leads to a class: nothing is explored twice, and nothing is redundant.
//!
//! The children that the node's own writes give are known at once. The others are found in the executions below it, by
//! induction over the reads of the set: below a child that `r` extends with a smaller set, all of the set but its last
//! read `q` is met, and then
//!
//! - `r` happens before `q`, or beside it, and `q` is met there as well, with its writes;
//! - or `r` and `q` both change what the other observes. Then `q` is not met as it would be without `r`, but what it
//!   would observe is; `r` comes right after it, and what `q` wrote is found out by that execution.
//!
//! This is to annotated partial orders what schedules are to traces with reads-from in Abdulla, Atig, Jonsson, Lång,
//! Ngo, Sagonas, "Optimal Stateless Model Checking for Reads-From Equivalence under Sequential Consistency"
//! (OOPSLA'19), whose reads and writes are separate events. It stands in the place of the paper's map C.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::events::{join_past, EventIndex, Events, Past, Vertex, INITIAL};
use super::extend::{
    candidates, good_writes, is_late, number, observations, product, writes_after, Extension, Incomparable, Key,
    Pending, Sources,
};
use super::order::PartialOrder;
use super::{Node, ValueCentric};
use crate::operation::{LocationId, OperationKind, ThreadId};

/// What is added to a node.
pub struct Child {
    pub vertices: Vec<Vertex>,
    /// How many of them, from the first, an execution below the node has had in this way.
    pub met: usize,
    /// Whether the node's read, which is not among them, must not observe what the node has.
    pub covers: bool,
    pub number: u128,
}

/// What has become of a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It is explored, or waits to be.
    Listed,
    /// It waits to be explored, with a read that may have more good writes than are known.
    Guessed,
    /// With the good writes that were known it has no witness.
    Failed,
}

/// By what the classes that contain a node are told apart.
#[derive(Clone, Copy)]
pub enum Partition {
    /// What causally precedes the read.
    Past,
    /// The next event at the primitive that the read waits for; until then this is the last.
    Next { last: EventIndex },
}

/// A read of the last execution, or one that waited at its end.
struct Reader {
    read: Pending,
    event: Option<EventIndex>,
}

/// The last execution.
struct Survey<'a> {
    events: &'a Events,
    program: PartialOrder,
    /// The numbers of the annotations of reads.
    numbers: Vec<u128>,
    readers: Vec<Reader>,
    /// The events from here on are new.
    first: usize,
    root: Option<ThreadId>,
}

fn is_within(past: &[u32], bound: &[u32]) -> bool {
    past.iter().enumerate().all(|(thread, count)| *count <= bound.get(thread).copied().unwrap_or(0))
}

fn share(mine: &[LocationId], theirs: &[LocationId]) -> bool {
    mine.iter().any(|location| theirs.contains(location))
}

impl Survey<'_> {
    fn depends_on(&self, event: EventIndex, read: &Pending) -> bool {
        event != INITIAL && read.is_in(&self.events.get(event).past)
    }

    fn is_within(&self, event: EventIndex, bound: &[u32]) -> bool {
        is_within(&self.events.get(event).past, bound)
    }

    fn is_new(&self, event: EventIndex) -> bool {
        event != INITIAL && event as usize >= self.first
    }

    /// The events beside the node's whose past is within `bound`, as they are when they come right after the node's,
    /// with the sum of their numbers.
    fn events_within(&self, node: &Node, bound: &Past) -> (Vec<Vertex>, FxHashMap<EventIndex, EventIndex>, u128) {
        let mut moved = FxHashMap::default();
        let mut sum = 0u128;
        let chosen = |event: &EventIndex| is_within(&self.events.get(*event).past, bound);
        let chosen: Vec<EventIndex> =
            (node.length as EventIndex..self.events.len() as EventIndex).filter(chosen).collect();
        for (position, &event) in chosen.iter().enumerate() {
            moved.insert(event, (node.length + position) as EventIndex);
            sum = sum.wrapping_add(self.numbers[event as usize]);
        }
        let vertices = chosen.iter().map(|event| renamed(self.events.get(*event).clone(), &moved)).collect();
        (vertices, moved, sum)
    }

    /// What the read may observe where the other does not happen before it: sources for each of its locations.
    fn sources(&self, read: &Pending, fixed: Option<(LocationId, EventIndex)>, without: &Pending) -> Vec<Sources> {
        let choices: Vec<Vec<EventIndex>> = read
            .shape
            .reads
            .iter()
            .map(|location| match fixed {
                Some((place, source)) if place == *location => vec![source],
                _ => {
                    let mut found = candidates(self.events, &self.program, read, *location);
                    found.retain(|source| !self.depends_on(*source, without) && !self.depends_on(*source, read));
                    found
                }
            })
            .collect();
        product(&choices)
    }

    /// Partition by past: the node's read observes a write that the node does not have.
    fn later_writes(&self, node: &mut Node, read: &Pending) -> Result<(), Incomparable> {
        for sources in self.sources(read, None, read) {
            if !sources.iter().any(|source| self.is_new(*source) && *source as usize >= node.length)
                || node.covered.covers(self.events, read, &sources)
            {
                continue;
            }
            let Some(writes) = writes_after(self.events, read, &sources)? else { continue };
            let mut bound = read.past_of(self.events, &sources);
            join_past(&mut bound, &node.past);
            if is_late(self.events, read, &sources, &writes, |event| self.is_within(event, &bound)) {
                continue;
            }
            let vertex = self.read_of(read, &sources, read, writes);
            let observed = match &vertex.reads[..] {
                [single] => single.good.iter().find(|write| self.is_later_read(node, **write)),
                _ => None,
            };
            let number = match observed {
                Some(&rival) => self.number_after(read, &[rival]),
                None if sources.len() > 1 => self.number_after(read, &sources),
                None => Key::new(self.events, read, 0, &sources, self.root).number(),
            };
            let (mut vertices, moved, sum) = self.events_within(node, &bound);
            let number = sum.wrapping_add(number);
            match node.known.insert(number, Known::Listed) {
                Some(Known::Listed) => continue,
                Some(Known::Guessed) => node.children.retain(|child| child.number != number),
                Some(Known::Failed) | None => {}
            }
            let met = vertices.len();
            vertices.push(renamed(vertex, &moved));
            node.children.push(Child { vertices, met, covers: false, number });
        }
        Ok(())
    }

    fn is_later_read(&self, node: &Node, event: EventIndex) -> bool {
        event != INITIAL && event as usize >= node.length && self.events.get(event).is_read
    }

    /// A number for a read by the events that it observes, whatever they wrote.
    fn number_after(&self, read: &Pending, observed: &[EventIndex]) -> u128 {
        let observed: Vec<_> = observed.iter().map(|event| self.events.identity(*event)).collect();
        number((read.thread, read.index, observed))
    }

    /// The read with its good writes, none of which `without` happens before.
    fn read_of(
        &self,
        read: &Pending,
        sources: &[EventIndex],
        without: &Pending,
        writes: super::shape::Locations,
    ) -> Vertex {
        let mut reads = observations(read, sources);
        if let [source] = sources {
            let eligible = |write| !self.depends_on(write, without) && !self.depends_on(write, read);
            reads[0].good = good_writes(self.events, read, *source, self.root, eligible);
        }
        read.vertex(Extension { outcome: 0, reads, writes })
    }

    /// Partition by past: the node's read right after another that observes what it could not observe with the
    /// node's read before it.
    fn after_rivals(&self, node: &mut Node, read: &Pending) -> Result<(), Incomparable> {
        if read.waits() {
            return Ok(());
        }
        // Where it only looks, it can come before any rival that can come last.
        let only_looks = read.possible_writes().is_empty() && read.shape.reads.len() == 1;
        for Reader { read: rival, event } in &self.readers {
            if event.is_some_and(|event| (event as usize) < node.length)
                || rival.is(read)
                || read.is_in(&rival.past_before)
                || (only_looks && rival.shape.reads.len() == 1)
                || !share(&rival.possible_writes(), &read.shape.reads)
            {
                continue;
            }
            let is_new = event.is_none_or(|event| self.is_new(event));
            for sources in self.sources(rival, None, read) {
                if !is_new && !sources.iter().any(|source| self.is_new(*source)) {
                    continue;
                }
                let met_so = event.is_some_and(|event| {
                    let mut pairs = self.events.get(event).reads.iter().zip(&sources);
                    pairs.all(|(observation, source)| observation.good.contains(source))
                });
                if met_so {
                    continue;
                }
                let Some(writes) = writes_after(self.events, rival, &sources)? else { continue };
                if share(&writes, &read.shape.reads) {
                    self.after_rival(node, read, rival, &sources, writes);
                }
            }
        }
        Ok(())
    }

    fn after_rival(
        &self,
        node: &mut Node,
        read: &Pending,
        rival: &Pending,
        sources: &[EventIndex],
        writes: super::shape::Locations,
    ) {
        let mut bound = rival.past_of(self.events, sources);
        join_past(&mut bound, &node.past);
        if is_late(self.events, rival, sources, &writes, |event| self.is_within(event, &bound)) {
            return;
        }
        let (vertices, moved, sum) = self.events_within(node, &bound);
        let sum = sum.wrapping_add(Key::new(self.events, rival, 0, sources, self.root).number());
        let met = vertices.len();
        let rival_at = (node.length + met) as EventIndex;
        let rival_vertex = renamed(self.read_of(rival, sources, read, writes.clone()), &moved);
        // The rival itself has no place yet: it is marked by what cannot be among the candidates.
        let mark = self.events.len() as EventIndex;
        let choices: Vec<Vec<EventIndex>> = read
            .shape
            .reads
            .iter()
            .map(|location| {
                let mut found = Vec::new();
                if read.shape.reads.len() > 1 || !writes.contains(location) {
                    found = candidates(self.events, &self.program, read, *location);
                    found.retain(|&source| source == INITIAL || is_within(&self.events.get(source).past, &bound));
                }
                if writes.contains(location) {
                    found.push(mark);
                }
                found
            })
            .collect();
        for observed in product(&choices).into_iter().filter(|observed| observed.contains(&mark)) {
            let identity = |event: &EventIndex| match *event {
                event if event == mark => (rival.thread, rival.index),
                event => self.events.identity(event),
            };
            let after: Vec<_> = observed.iter().map(identity).collect();
            let number = sum.wrapping_add(number((read.thread, read.index, after)));
            if node.known.contains_key(&number) {
                continue;
            }
            node.known.insert(number, Known::Guessed);
            let place = |event: &EventIndex| match *event {
                event if event == mark => rival_at,
                event => moved.get(&event).copied().unwrap_or(event),
            };
            let observed: Sources = observed.iter().map(place).collect();
            let writes = read.possible_writes();
            let extension = Extension { outcome: 0, reads: observations(read, &observed), writes };
            let mut vertices = vertices.clone();
            vertices.push(rival_vertex.clone());
            vertices.push(Vertex { supposed: true, ..read.vertex(extension) });
            node.children.push(Child { vertices, met, covers: false, number });
        }
    }

    /// Partition by next event: another event is the next at the primitive.
    fn before_waiting(&self, node: &mut Node, read: &Pending, last: EventIndex) -> Result<(), Incomparable> {
        let place = read.operation.target;
        for Reader { read: rival, event } in &self.readers {
            if event.is_some_and(|event| !self.is_new(event) || (event as usize) < node.length)
                || rival.is(read)
                || read.is_in(&rival.past_before)
                || !rival.possible_writes().contains(&place)
            {
                continue;
            }
            for sources in self.sources(rival, Some((place, last)), read) {
                let Some(writes) = writes_after(self.events, rival, &sources)? else { continue };
                if !writes.contains(&place) {
                    continue;
                }
                let mut bound = rival.past_of(self.events, &sources);
                join_past(&mut bound, &node.past);
                let (mut vertices, moved, sum) = self.events_within(node, &bound);
                let number = sum.wrapping_add(Key::new(self.events, rival, 0, &sources, self.root).number());
                if vertices.iter().any(|vertex| vertex.writes.contains(&place))
                    || node.known.insert(number, Known::Listed).is_some()
                {
                    continue;
                }
                let met = vertices.len();
                vertices.push(renamed(self.read_of(rival, &sources, read, writes), &moved));
                node.children.push(Child { vertices, met, covers: read.possible_writes().is_empty(), number });
            }
        }
        Ok(())
    }
}

/// The event where others have moved.
fn renamed(mut vertex: Vertex, moved: &FxHashMap<EventIndex, EventIndex>) -> Vertex {
    let rename = |event: &mut EventIndex| *event = moved.get(event).copied().unwrap_or(*event);
    vertex.predecessors.iter_mut().for_each(rename);
    for observation in &mut vertex.reads {
        observation.good.iter_mut().for_each(rename);
    }
    vertex
}

impl ValueCentric {
    /// Find the children that the last execution shows; `waiting` are the reads that waited at its end.
    pub(super) fn find_postponed(&mut self, waiting: &[Pending]) -> Result<(), OperationKind> {
        let events = &self.events;
        let mut numbers = vec![0; events.len()];
        let mut readers: Vec<Reader> = Vec::new();
        for event in 0..events.len() as EventIndex {
            let vertex = events.get(event);
            if vertex.is_read {
                numbers[event as usize] = Key::of(events, vertex, self.root).number();
                if !vertex.reads.is_empty() {
                    readers.push(Reader { read: Pending::of(vertex), event: Some(event) });
                }
            }
        }
        readers.extend(waiting.iter().map(|read| Reader { read: read.clone(), event: None }));
        let program = PartialOrder::of_program(events);
        let survey = Survey { events, program, numbers, readers, first: self.unseen, root: self.root };
        for node in &mut self.nodes {
            let Some(read) = node.chosen.map(|read| node.pending[read].clone()) else { continue };
            let found = match node.partition {
                Partition::Past => survey.later_writes(node, &read).and_then(|()| survey.after_rivals(node, &read)),
                Partition::Next { last } => survey.before_waiting(node, &read, last),
            };
            found.map_err(|Incomparable| read.operation.kind)?;
        }
        self.unseen = self.events.len();
        Ok(())
    }

    /// What a read that was put right after another finds is known now.
    pub(super) fn settle(&mut self) {
        let Some(event) = self.supposed.take() else { return };
        let vertex = self.events.get(event);
        let read = Pending::of(vertex);
        let sources: SmallVec<[EventIndex; 2]> = vertex.reads.iter().map(|observation| observation.good[0]).collect();
        if let [source] = sources.as_slice() {
            let eligible = |write| write == INITIAL || !read.is_in(&self.events.get(write).past);
            let good = good_writes(&self.events, &read, *source, self.root, eligible);
            self.events.set_good(event, good);
        }
    }
}
