//! Alternatives, QPOR (CAV'18), section 5: what to explore so that none of the disabled events can come back.
//!
//! An alternative to D after C is a configuration J such that C ∪ J is one too, J has no event of D, and every event of
//! D is in conflict with one of J (Definition 4). A k-partial alternative need only be in conflict with k events of D
//! (Definition 5): it is found in polynomial time, but the exploration that it leads to may run into an event of D.

use super::event_structure::{EventStructure, Number};

/// An event that may be part of an alternative, with what it needs.
struct Candidate {
    /// Its history beyond C, itself first.
    beyond: Vec<Number>,
    /// Which of the selected events it is in conflict with.
    conflicts: Vec<bool>,
}

/// A U-comb (Definition 6): for each of the selected events, the candidates that are in conflict with it.
struct Comb<'a> {
    structure: &'a EventStructure,
    candidates: &'a [Candidate],
    spikes: Vec<Vec<usize>>,
}

/// `Alt(C, D)`: J \ C for an alternative J, causes before effects; None if there is none in U.
///
/// `length` is the number of events of C, `selected` are the events of D that J has to be in conflict with (step 1),
/// and `kept` the events of U that can matter, each of which agrees with C and needs no event of D (step 3; done
/// before, for all spikes).
pub fn alternative(
    structure: &EventStructure,
    length: u32,
    selected: &[Number],
    kept: &[Number],
) -> Option<Vec<Number>> {
    let mut candidates: Vec<Candidate> = Vec::with_capacity(kept.len());
    for conflict in kept {
        let beyond: Vec<Number> = structure.beyond(*conflict, length).collect();
        let conflicts = |event: &Number| beyond.iter().any(|new| structure.depends(*new, *event));
        let conflicts: Vec<bool> = selected.iter().map(conflicts).collect();
        // One event with what it needs is mostly an alternative by itself.
        if conflicts.iter().all(|conflict| *conflict) {
            return Some(in_order(structure, beyond));
        }
        candidates.push(Candidate { beyond, conflicts });
    }
    // 2. Build a comb with a spike for each, of the events in conflict with it.
    let mut spikes: Vec<Vec<usize>> = Vec::with_capacity(selected.len());
    for event in 0..selected.len() {
        let spike: Vec<usize> = (0..candidates.len()).filter(|index| candidates[*index].conflicts[event]).collect();
        if spike.is_empty() {
            return None;
        }
        spikes.push(spike);
    }
    // 4. Find a combination whose events are not in conflict with each other.
    let comb = Comb { structure, candidates: &candidates, spikes };
    let mut chosen: Vec<usize> = Vec::with_capacity(selected.len());
    if !comb.combine(&mut chosen) {
        return None;
    }
    // 5. It and what its events need is an alternative.
    Some(in_order(structure, chosen.into_iter().flat_map(|index| candidates[index].beyond.clone()).collect()))
}

/// The events, causes before effects.
fn in_order(structure: &EventStructure, mut events: Vec<Number>) -> Vec<Number> {
    events.sort_unstable_by_key(|event| (structure.size(*event), *event));
    events.dedup();
    events
}

impl Comb<'_> {
    /// Add to `chosen` until each of the selected events is in conflict with one of them.
    fn combine(&self, chosen: &mut Vec<usize>) -> bool {
        let open = |event: &usize| !chosen.iter().any(|index| self.candidates[*index].conflicts[*event]);
        let Some(event) = (0..self.spikes.len()).filter(open).min_by_key(|event| self.spikes[*event].len()) else {
            return true;
        };
        for &index in &self.spikes[event] {
            let new = &self.candidates[index].beyond;
            let in_conflict = |other: &usize| self.structure.conflict_beyond(new, &self.candidates[*other].beyond);
            if chosen.iter().any(in_conflict) {
                continue;
            }
            chosen.push(index);
            if self.combine(chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }
}
