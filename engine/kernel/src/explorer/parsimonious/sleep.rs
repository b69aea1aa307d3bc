//! Section 4.3: the sleep set, characterised rather than listed.
//!
//! Two schedules σ and σ' that reverse races with the same event ê after E1 can be compatible: then either the
//! executions that begin with σ must not go on with σ', or the other way round. The paper lets the earlier one in the
//! order ∝ win, where ∝ is the order in which schedules are found, and characterises what precedes σ by *schedule
//! expressions* `P ▷ x`, and `P[φ] ▷ x` for what is inherited from the schedules that σ contains (Algorithm 2).
//!
//! Any total order of the schedules that one execution can contain does (section 4.3 says as much), and the heads give
//! one that needs no record of how a schedule was found: *σ' ∝ σ if the thread of the head of σ' precedes the thread
//! of the head of σ*. It is total where it has to be: the heads of two schedules that one execution contains both
//! conflict with ê, and neither happens before the other, because a schedule has no such event but its head; so they
//! are of different threads. Every schedule is found whatever is in the sleep set that it belongs to (Lemma 3), and an
//! execution that contains several is reached from the least of them and refused after each of the others: once.
//! Nothing is inherited, because the same order holds everywhere; what the paper calls a contained, conflicting or
//! inherited schedule is only where the lesser one would have been found.
//!
//! A schedule expression so becomes the pair of where E1 ends and the thread of hd(σ), which is what a [`Schedule`]
//! holds: `MkSchedChar` is the schedule's own entry in the execution. `UpdSeq` blocks a schedule σ' with head e' if e'
//! conflicts with ê, precedes hd(σ), and hd(σ) is not in its past. ê itself is enabled after σ (see below) and empties
//! the sleep set, since whatever conflicts with it happens after it from then on, hence after hd(σ). The exploration
//! takes it at once (the paper's proof of Theorem 5 rests on the same event), so a sleep set is alive only where σ
//! ends: for further schedules that reverse races with ê. Those are the schedules that follow one another directly and
//! have the same ê, the *chain* below.
//!
//! Where ê cannot be taken after σ, hd(σ) has changed what ê waits for. Such an ê accesses one location, and hd(σ)
//! writes it, so that everything that conflicts with ê happens after hd(σ): the sleep set is empty. A wait for a
//! predicate over several locations is such an ê too, since writes to locations that one predicate reads conflict. The
//! same holds where hd(σ) changes what ê accesses.
//!
//! *Store buffers* are the exception: hd(σ) can be a flush, and a load of the thread that stored conflicts with ê
//! without happening after the flush. If the flush makes ê, a compare-exchange, fail, ê is a read and no longer in the
//! way of that load, which must not sleep then. So of a flush and a load of one thread that nothing else orders, the
//! flush comes first, whatever comes between: it is blocked after the load, and the load is as free after it as if the
//! flush happened before the load. This is one more order among the heads of an execution. It has no cycle (flushes to
//! one location are ordered among each other, so the load that precedes the first flush of a cycle happens before the
//! last one too), so what is left is again one sequence for each set of schedules: the least by threads of those that
//! respect it.

use super::names::{Actor, ThreadTable};
use super::schedule::{Reversal, Schedule};
use crate::execution::Execution;

/// The schedules that end at `base`, one directly after another, and were put before the same event of `reversed`;
/// the last first.
pub fn chain(schedules: &[Schedule], base: usize, reversed: Actor) -> impl Iterator<Item = &Schedule> + Clone {
    let before = schedules.partition_point(|schedule| schedule.head < base);
    let mut end = base;
    schedules[..before].iter().rev().take_while(move |schedule| {
        let next = schedule.head + 1 == end && schedule.reversed == Some(reversed);
        end = schedule.start;
        next
    })
}

/// `UpdSeq(σ, SSChar[E1]) = block`, where σ is the schedule of the reversal and the chain is that of E1.
pub fn blocks<'a>(
    chain: impl Iterator<Item = &'a Schedule> + Clone,
    reversal: &Reversal,
    execution: &Execution,
    threads: &ThreadTable,
) -> bool {
    let head = reversal.head();
    let heads = chain.map(|schedule| (schedule, &execution.events()[schedule.head]));
    if head.operation.is_flush()
        && heads.clone().any(|(_, other)| !other.can_conflict(head) && !reversal.needs(other))
    {
        return true;
    }
    // What happens after the head of a schedule of the chain is in the way of neither that one nor those before it.
    let mut apart = heads.take_while(|(_, other)| other.can_conflict(head) && !reversal.needs(other));
    let actor = threads.actor(head);
    apart.any(|(schedule, _)| threads.precedes(actor, schedule.actor))
}
