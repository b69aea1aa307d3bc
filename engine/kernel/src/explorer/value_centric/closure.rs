//! The closure of an annotated partial order (section 4.2, algorithms 1 to 4): the orderings that every linearisation
//! in which each read observes a good write must have.
//!
//! The paper's rules pick unique events, which exist because the events of the root are totally ordered and so are
//! the conflicting events of the leaves. We leave writes of leaves unordered until a witness needs their order (see
//! `realise`), so our rules insert an ordering where the event that they need is unique, and nothing otherwise; what
//! they insert is necessary all the same, and where the paper's condition holds they insert what the paper's do.

use smallvec::SmallVec;

use super::events::{EventIndex, Events, Observation, INITIAL};
use super::order::{Cyclic, PartialOrder};

/// Close `order`; `Cyclic` if no linearisation exists.
pub fn close(events: &Events, order: &mut PartialOrder) -> Result<(), Cyclic> {
    let mut changed = true;
    while changed {
        changed = false;
        for read in 0..events.len() as EventIndex {
            for observation in &events.get(read).reads {
                changed |= close_read(events, order, read, observation)?;
            }
        }
    }
    Ok(())
}

/// Whether `first` comes before `second`, where the initial write comes before everything.
fn before(events: &Events, order: &PartialOrder, first: EventIndex, second: EventIndex) -> bool {
    first == INITIAL || (second != INITIAL && order.precedes(events, first, second))
}

/// The writes among `GoodW(r)` that `r` could still observe: not after it, and not hidden by another write.
fn visible_good(
    events: &Events,
    order: &PartialOrder,
    read: EventIndex,
    observation: &Observation,
) -> SmallVec<[EventIndex; 4]> {
    let writers = events.writers(observation.location);
    let visible = |&write: &EventIndex| {
        if write != INITIAL && order.precedes(events, read, write) {
            return false;
        }
        !writers.iter().any(|&other| {
            other != write
                && other != read
                && before(events, order, write, other)
                && order.precedes(events, other, read)
        })
    };
    observation.good.iter().copied().filter(visible).collect()
}

/// The write of `set` that comes before all others, or after all others; None if there is no such.
fn extreme(events: &Events, order: &PartialOrder, set: &[EventIndex], latest: bool) -> Option<EventIndex> {
    let mut chosen = *set.first()?;
    for &write in &set[1..] {
        if before(events, order, write, chosen) != latest {
            chosen = write;
        }
    }
    let is_extreme = set.iter().all(|&write| {
        let (first, second) = if latest { (write, chosen) } else { (chosen, write) };
        write == chosen || before(events, order, first, second)
    });
    is_extreme.then_some(chosen)
}

fn close_read(
    events: &Events,
    order: &mut PartialOrder,
    read: EventIndex,
    observation: &Observation,
) -> Result<bool, Cyclic> {
    let good = visible_good(events, order, read, observation);
    if good.is_empty() {
        return Err(Cyclic);
    }
    let mut changed = false;
    changed |= rule_1(events, order, read, &good)?;
    for &write in events.writers(observation.location) {
        if write == read || observation.good.contains(&write) {
            continue;
        }
        changed |= rule_2(events, order, read, write, &good)?;
        changed |= rule_3(events, order, read, write, &good)?;
    }
    Ok(changed)
}

/// The first good visible write comes before the read.
fn rule_1(events: &Events, order: &mut PartialOrder, read: EventIndex, good: &[EventIndex]) -> Result<bool, Cyclic> {
    match extreme(events, order, good, false) {
        Some(write) if write != INITIAL => order.insert(events, write, read),
        _ => Ok(false),
    }
}

/// A bad write after every good one comes after the read.
fn rule_2(
    events: &Events,
    order: &mut PartialOrder,
    read: EventIndex,
    bad: EventIndex,
    good: &[EventIndex],
) -> Result<bool, Cyclic> {
    if good.iter().all(|&write| before(events, order, write, bad)) {
        return order.insert(events, read, bad);
    }
    Ok(false)
}

/// After a bad write before the read comes a good one.
fn rule_3(
    events: &Events,
    order: &mut PartialOrder,
    read: EventIndex,
    bad: EventIndex,
    good: &[EventIndex],
) -> Result<bool, Cyclic> {
    if !order.precedes(events, bad, read) {
        return Ok(false);
    }
    let later: SmallVec<[EventIndex; 4]> =
        good.iter().copied().filter(|&write| !before(events, order, write, bad)).collect();
    if later.is_empty() {
        return Err(Cyclic);
    }
    let mut changed = false;
    if let Some(last) = extreme(events, order, &later, true) {
        changed |= order.insert(events, bad, last)?;
    }
    if let Some(first) = extreme(events, order, &later, false) {
        changed |= order.insert(events, first, read)?;
    }
    Ok(changed)
}
