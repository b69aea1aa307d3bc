//! Alternatives, QPOR (CAV'18), section 5: what to explore so that none of the disabled events can come back.
//!
//! An alternative to D after C is a configuration J such that C ∪ J is one too, J has no event of D, and every event of D
//! is in conflict with one of J (Definition 4). A k-partial alternative need only be in conflict with k events of D
//! (Definition 5): it is found in polynomial time, but the exploration that it leads to may run into an event of D.
//!
//! Only immediate conflicts are looked for. If an event of U that agrees with C is in conflict with e in D, then one of
//! its causes is in immediate conflict with e, since what precedes e is in C; that cause serves as well.

use super::event_structure::{Configuration, EventStructure, Number};

/// `Alt(C, D)`: J \ C for an alternative J, causes before effects; None if there is none in U.
///
/// `disabled` is D, the event that was disabled last at its end; `k` bounds how many of it J has to be in conflict with.
pub fn alternative(
    structure: &EventStructure,
    configuration: &Configuration,
    disabled: &[Number],
    k: Option<usize>,
) -> Option<Vec<Number>> {
    // 1. Select k events of D.
    let selected: Vec<Number> = disabled.iter().rev().take(k.unwrap_or(usize::MAX)).copied().collect();
    if !selected.iter().all(|event| structure.may_conflict(*event)) {
        return None;
    }
    // 3. Leave out what is in conflict with C or needs an event of D; done first, since the spikes share what is left.
    let extensions = structure.extensions(configuration, disabled);
    // One event with what it needs is mostly an alternative by itself.
    let serves = |beyond: &&Vec<Number>| {
        let conflicts = |event: &Number| structure.immediate_conflict(beyond[0], *event);
        selected.iter().all(conflicts)
    };
    if let Some(beyond) = extensions.iter().find(serves) {
        return Some(in_order(structure, beyond.clone()));
    }
    // 2. Build a comb with a spike for each, of the events in conflict with it, each with what it needs beyond C.
    let mut comb: Vec<Vec<&[Number]>> = Vec::with_capacity(selected.len());
    for event in selected {
        let conflicts =
            |beyond: &&[Number]| beyond.first().is_some_and(|new| structure.immediate_conflict(*new, event));
        let spike: Vec<&[Number]> = extensions.iter().map(Vec::as_slice).filter(conflicts).collect();
        if spike.is_empty() {
            return None;
        }
        comb.push(spike);
    }
    comb.sort_by_key(Vec::len);
    // 4. Find a combination whose events are not in conflict with each other.
    let mut chosen: Vec<&[Number]> = Vec::with_capacity(comb.len());
    if !combine(structure, &comb, &mut chosen) {
        return None;
    }
    // 5. It and what its events need is an alternative.
    Some(in_order(structure, chosen.into_iter().flatten().copied().collect()))
}

/// The events, causes before effects.
fn in_order(structure: &EventStructure, mut events: Vec<Number>) -> Vec<Number> {
    events.sort_unstable_by_key(|event| (structure.size(*event), *event));
    events.dedup();
    events
}

fn combine<'a>(structure: &EventStructure, comb: &[Vec<&'a [Number]>], chosen: &mut Vec<&'a [Number]>) -> bool {
    let Some(spike) = comb.get(chosen.len()) else { return true };
    for candidate in spike {
        if chosen.iter().any(|other| structure.conflict_beyond(candidate, other)) {
            continue;
        }
        chosen.push(candidate);
        if combine(structure, comb, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}
