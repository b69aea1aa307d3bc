//! Ancestors in a growing tree: Nguyen, Rodríguez, Sousa, Coti, Petrucci, "Quasi-Optimal Partial Order Reduction"
//! (CAV'18), section 5.2.
//!
//! A node keeps its parent and, like a skip list, some ancestors further up: as many as its depth has trailing zeros in
//! base `STEP`, at distances `STEP`, `STEP`², and so on. Finding an ancestor `g` levels up takes O(log g) steps.

use smallvec::SmallVec;

/// The base `s` of the skips; the paper found that other values make little difference.
const STEP: u32 = 4;

/// No node: the parent of a root.
pub const NONE: u32 = u32::MAX;

struct Node {
    depth: u32,
    parent: u32,
    skips: SmallVec<[u32; 1]>,
}

/// A forest of numbered nodes.
#[derive(Default)]
pub struct Trees {
    nodes: Vec<Node>,
}

impl Trees {
    /// Make `number` a child of `parent` (NONE: a root), whatever it was; no number between may have been left out.
    pub fn place(&mut self, number: u32, parent: u32) {
        let depth = if parent == NONE { 0 } else { self.depth(parent) + 1 };
        let mut skips = SmallVec::new();
        let mut distance = STEP;
        while depth > 0 && depth % distance == 0 {
            skips.push(self.ancestor(parent, depth - distance));
            let Some(next) = distance.checked_mul(STEP) else { break };
            distance = next;
        }
        let node = Node { depth, parent, skips };
        match self.nodes.get_mut(number as usize) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
    }

    /// How many nodes are above it.
    pub fn depth(&self, node: u32) -> u32 {
        self.nodes[node as usize].depth
    }

    pub fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// The ancestor of `node` (or itself) at a depth that is not below its own: `q(n, g)`.
    pub fn ancestor(&self, node: u32, depth: u32) -> u32 {
        let mut current = node;
        loop {
            let here = &self.nodes[current as usize];
            if here.depth <= depth {
                return current;
            }
            // The longest skip that does not go too far; the parent otherwise.
            let above = here.skips.iter().rev().find(|skip| self.nodes[**skip as usize].depth >= depth);
            current = above.copied().unwrap_or(here.parent);
        }
    }

    /// Whether `upper` is `lower` or an ancestor of it.
    pub fn is_ancestor(&self, upper: u32, lower: u32) -> bool {
        let depth = self.depth(upper);
        depth <= self.depth(lower) && self.ancestor(lower, depth) == upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ancestor_of_a_deep_node_is_found() {
        let mut trees = Trees::default();
        trees.place(0, NONE);
        for number in 1..=300 {
            trees.place(number, number - 1);
        }
        for lower in [1, 4, 16, 17, 63, 64, 255, 256, 300] {
            for upper in 0..=lower {
                assert_eq!(trees.ancestor(lower, upper), upper);
            }
        }
        trees.place(301, 10);
        assert!(trees.is_ancestor(10, 301));
        assert!(!trees.is_ancestor(11, 301));
        assert!(!trees.is_ancestor(301, 20));
    }

    #[test]
    fn a_number_that_is_used_again_has_the_ancestors_of_its_new_place() {
        let mut trees = Trees::default();
        trees.place(0, NONE);
        for number in 1..=40 {
            trees.place(number, number - 1);
        }
        // A leaf of the first 20 and what was below it make a new branch of node 8.
        let mut branch = vec![8];
        for number in (20..=40).rev() {
            trees.place(number, branch[branch.len() - 1]);
            branch.push(number);
        }
        for (place, lower) in branch.iter().enumerate() {
            for upper in 0..=8 {
                assert_eq!(trees.ancestor(*lower, upper), upper);
            }
            for (distance, upper) in branch[..=place].iter().rev().enumerate() {
                assert_eq!(trees.ancestor(*lower, trees.depth(*lower) - distance as u32), *upper);
            }
        }
    }
}
