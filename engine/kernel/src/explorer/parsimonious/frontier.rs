//! What is left of an exploration, as text: to go on with later, or in another process.
//!
//! A branch says all that its exploration depends on, so that a frontier is nothing but the stack: the trunks that
//! branches leave, each written once, and what each branch does. Threads are named by their spawn paths.
//!
//! ```text
//! dpor-frontier 1
//! threads main main.0 main.1
//! trunk 0*2 1*3 2:1 | 2-4:1>2
//! branch 3 0.25 1 2*2 1
//! ```
//!
//! Who takes a step is the number of a thread, with `!n` if the thread's nth store is flushed. A step adds `:outcome`
//! if that is not 0 and `*count` if it is repeated; a schedule is `start-head:actor>reversed`, and a branch gives the
//! length of E1, its weight, the reversed actor (`-` if there is none) and σ. A branch belongs to the last trunk above
//! it.

use std::fmt::{self, Write};
use std::rc::Rc;

use super::names::{Actor, Path, ThreadName, ThreadTable};
use super::schedule::Schedule;
use super::{Branch, Step, Trunk};

const HEADING: &str = "dpor-frontier 1";

/// A text is no frontier, or one of another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierError {
    /// Counted from 1.
    pub line: usize,
    pub expected: &'static str,
}

impl fmt::Display for FrontierError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {} of a frontier is not {}", self.line, self.expected)
    }
}

/// Write branches, the next one last.
pub fn write<'a>(branches: impl IntoIterator<Item = &'a Branch>, threads: &ThreadTable) -> String {
    let mut text = format!("{HEADING}\nthreads");
    for path in threads.paths() {
        text.push_str(" main");
        for child in path {
            text.push('.');
            text.push_str(&child.to_string());
        }
    }
    let mut last: Option<&Rc<Trunk>> = None;
    for branch in branches {
        if !last.is_some_and(|trunk| Rc::ptr_eq(trunk, &branch.trunk)) {
            text.push_str("\ntrunk");
            write_steps(&mut text, &branch.trunk.steps);
            text.push_str(" |");
            for schedule in &branch.trunk.schedules {
                let Schedule { start, head, actor, reversed } = *schedule;
                push(&mut text, format_args!(" {start}-{head}:{}>{}", Optional(Some(actor)), Optional(reversed)));
            }
            last = Some(&branch.trunk);
        }
        push(&mut text, format_args!("\nbranch {} {} {}", branch.base, branch.weight, Optional(branch.reversed)));
        write_steps(&mut text, &branch.steps);
    }
    text.push('\n');
    text
}

struct Optional(Option<Actor>);

impl fmt::Display for Optional {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Actor { thread, store: 0 }) => write!(formatter, "{}", thread.0),
            Some(Actor { thread, store }) => write!(formatter, "{}!{store}", thread.0),
            None => formatter.write_str("-"),
        }
    }
}

fn push(text: &mut String, arguments: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
}

fn write_steps(text: &mut String, steps: &[Step]) {
    for same in steps.chunk_by(|one, other| one == other) {
        let (actor, outcome) = same[0];
        push(text, format_args!(" {}", Optional(Some(actor))));
        if outcome != 0 {
            push(text, format_args!(":{outcome}"));
        }
        if same.len() > 1 {
            push(text, format_args!("*{}", same.len()));
        }
    }
}

/// Read what `write` wrote; the threads become known to the table.
pub fn read(text: &str, threads: &mut ThreadTable) -> Result<Vec<Branch>, FrontierError> {
    let mut names: Vec<ThreadName> = Vec::new();
    let mut trunk: Option<Rc<Trunk>> = None;
    let mut branches = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fail = |expected| FrontierError { line: index + 1, expected };
        if index == 0 {
            if line != HEADING {
                return Err(fail("the heading of this version"));
            }
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "threads" => {
                for path in rest.split_whitespace() {
                    let path = read_path(path).ok_or_else(|| fail("a list of spawn paths"))?;
                    names.push(threads.name_at(path));
                }
            }
            "trunk" => {
                let read = read_trunk(rest, &names).ok_or_else(|| fail("a trunk"))?;
                trunk = Some(Rc::new(read));
            }
            "branch" => {
                let branch = trunk.as_ref().and_then(|trunk| read_branch(rest, trunk, &names));
                branches.push(branch.ok_or_else(|| fail("a branch of the trunk above"))?);
            }
            _ => return Err(fail("threads, a trunk or a branch")),
        }
    }
    Ok(branches)
}

fn read_path(text: &str) -> Option<Path> {
    let mut parts = text.split('.');
    if parts.next() != Some("main") {
        return None;
    }
    parts.map(|part| part.parse().ok()).collect()
}

fn read_actor(text: &str, names: &[ThreadName]) -> Option<Actor> {
    let (thread, store) = text.split_once('!').unwrap_or((text, "0"));
    let thread = names.get(thread.parse::<usize>().ok()?).copied()?;
    Some(Actor { thread, store: store.parse().ok()? })
}

fn read_optional(text: &str, names: &[ThreadName]) -> Option<Option<Actor>> {
    if text == "-" {
        Some(None)
    } else {
        read_actor(text, names).map(Some)
    }
}

fn read_steps<'a>(words: impl Iterator<Item = &'a str>, names: &[ThreadName]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for word in words {
        let (step, count) = word.split_once('*').unwrap_or((word, "1"));
        let (actor, outcome) = step.split_once(':').unwrap_or((step, "0"));
        let step = (read_actor(actor, names)?, outcome.parse().ok()?);
        steps.resize(steps.len() + count.parse::<usize>().ok()?, step);
    }
    Some(steps)
}

fn read_trunk(text: &str, names: &[ThreadName]) -> Option<Trunk> {
    let (steps, schedules) = text.split_once('|')?;
    let steps = read_steps(steps.split_whitespace(), names)?;
    let schedules: Option<Vec<Schedule>> =
        schedules.split_whitespace().map(|word| read_schedule(word, names)).collect();
    let schedules = schedules.filter(|all| all.last().is_none_or(|schedule| schedule.head < steps.len()))?;
    Some(Trunk { steps, schedules })
}

fn read_schedule(text: &str, names: &[ThreadName]) -> Option<Schedule> {
    let (place, who) = text.split_once(':')?;
    let (start, head) = place.split_once('-')?;
    let (actor, reversed) = who.split_once('>')?;
    Some(Schedule {
        start: start.parse().ok()?,
        head: head.parse().ok()?,
        actor: read_actor(actor, names)?,
        reversed: read_optional(reversed, names)?,
    })
}

fn read_branch(text: &str, trunk: &Rc<Trunk>, names: &[ThreadName]) -> Option<Branch> {
    let mut words = text.split_whitespace();
    let base = words.next()?.parse().ok().filter(|base| *base <= trunk.steps.len())?;
    let weight = words.next()?.parse().ok()?;
    let reversed = read_optional(words.next()?, names)?;
    Some(Branch { trunk: trunk.clone(), base, steps: read_steps(words, names)?, reversed, weight })
}
