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

/// A forest whose nodes are numbered as they are added.
#[derive(Default)]
pub struct Trees {
    nodes: Vec<Node>,
}

impl Trees {
    /// Add a child of `parent` (NONE: a root). Returns its number.
    pub fn add(&mut self, parent: u32) -> u32 {
        let depth = if parent == NONE { 0 } else { self.depth(parent) + 1 };
        let mut skips = SmallVec::new();
        let mut distance = STEP;
        while depth > 0 && depth % distance == 0 {
            skips.push(self.ancestor(parent, depth - distance));
            let Some(next) = distance.checked_mul(STEP) else { break };
            distance = next;
        }
        self.nodes.push(Node { depth, parent, skips });
        self.nodes.len() as u32 - 1
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

    /// Keep only the nodes for which `keep` is true, with their order; parents of kept nodes must be kept.
    pub fn retain(&mut self, keep: &[bool]) {
        let old = std::mem::take(&mut self.nodes);
        let mut numbers = vec![NONE; old.len()];
        for (number, node) in old.into_iter().enumerate() {
            if keep[number] {
                let parent = if node.parent == NONE { NONE } else { numbers[node.parent as usize] };
                numbers[number] = self.add(parent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ancestor_of_a_deep_node_is_found() {
        let mut trees = Trees::default();
        let mut chain = vec![trees.add(NONE)];
        for _ in 0..300 {
            chain.push(trees.add(chain[chain.len() - 1]));
        }
        for lower in [1, 4, 16, 17, 63, 64, 255, 256, 300] {
            for upper in 0..=lower {
                assert_eq!(trees.ancestor(chain[lower], upper as u32), chain[upper]);
            }
        }
        let sibling = trees.add(chain[10]);
        assert!(trees.is_ancestor(chain[10], sibling));
        assert!(!trees.is_ancestor(chain[11], sibling));
        assert!(!trees.is_ancestor(sibling, chain[20]));
    }

    #[test]
    fn what_is_kept_has_the_ancestors_it_had() {
        let mut trees = Trees::default();
        let mut chain = vec![trees.add(NONE)];
        for _ in 0..40 {
            trees.add(chain[chain.len() - 1]);
            chain.push(trees.add(chain[chain.len() - 1]));
        }
        let keep: Vec<bool> = (0..81).map(|node| chain.contains(&node)).collect();
        trees.retain(&keep);
        for lower in 0..41u32 {
            for upper in 0..=lower {
                assert_eq!(trees.ancestor(lower, upper), upper);
            }
        }
    }
}
