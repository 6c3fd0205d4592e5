//! Trees over ranks: within a host a chain, from host to host two binary trees, of which channels take one and the other.
//!
//! Of each host the first rank of the chain has the connections to other hosts. In the second tree the leaves of the first are inner nodes,
//! so that two channels load every host alike. A binary tree of n has node 0 above the greatest power of two below n; below, the lowest
//! bit that is set says how high a node is.
//!
//! Source: Sanders, Speck and Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35 (2009);
//! NVIDIA/nccl 2.30.7, `src/graph/trees.cc` and `src/graph/connect.cc`.

/// Neighbours of a rank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TreeNode {
    pub parent: Option<u32>,
    pub children: Vec<u32>,
}

/// Neighbours of a rank, whose host is that of its place in `nodes`, in the first tree (0) or the second (1).
pub(super) fn node_of(rank: u32, nodes: &[u32], tree: u32) -> TreeNode {
    let node = nodes[rank as usize];
    let of_node = |node: u32| (0..nodes.len() as u32).filter(move |rank| nodes[*rank as usize] == node);
    let (before, after) =
        (of_node(node).take_while(|other| *other < rank).last(), of_node(node).find(|other| *other > rank));
    if before.is_some() {
        return TreeNode { parent: before, children: after.into_iter().collect() };
    }
    let count = nodes.iter().max().map_or(0, |last| last + 1);
    let among = if tree == 0 { binary(node, count) } else { second(node, count) };
    let head = |node: u32| of_node(node).next();
    let children = among.children.iter().filter_map(|node| head(*node)).chain(after);
    TreeNode { parent: among.parent.and_then(head), children: children.collect() }
}

/// The first of two trees.
fn binary(node: u32, count: u32) -> TreeNode {
    if node == 0 {
        let below = count.checked_sub(1).filter(|last| *last > 0).map(|last| 1 << last.ilog2());
        return TreeNode { parent: None, children: below.into_iter().collect() };
    }
    let bit = node & node.wrapping_neg();
    let above = (node ^ bit) | bit << 1;
    let parent = Some(if above < count { above } else { node ^ bit });
    let halves =
        |from: u32| std::iter::successors(Some(from), |half| Some(half >> 1)).take_while(|half| *half > 0);
    let left = (bit > 1).then(|| node - bit / 2);
    let right = halves(bit / 2).map(|half| node + half).find(|child| *child < count);
    TreeNode { parent, children: left.into_iter().chain(right).collect() }
}

/// The second: the first mirrored, or moved on by one where the number is odd.
fn second(node: u32, count: u32) -> TreeNode {
    let is_mirrored = count.is_multiple_of(2);
    let to = |node: u32| if is_mirrored { count - 1 - node } else { (node + count - 1) % count };
    let from = |node: u32| if is_mirrored { count - 1 - node } else { (node + 1) % count };
    let TreeNode { parent, children } = binary(to(node), count);
    TreeNode { parent: parent.map(from), children: children.into_iter().map(from).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(count: u32, number: u32) -> Vec<TreeNode> {
        let nodes: Vec<u32> = (0..count).collect();
        (0..count).map(|rank| node_of(rank, &nodes, number)).collect()
    }

    #[test]
    fn both_trees_hang_together_whatever_the_number() {
        for (count, channel) in (2..40).flat_map(|count| [(count, 0), (count, 1)]) {
            let nodes = tree(count, channel);
            assert_eq!(nodes.iter().filter(|node| node.parent.is_none()).count(), 1, "{count}: one root");
            for (rank, node) in nodes.iter().enumerate() {
                assert!(node.children.len() <= 2, "{count}");
                for child in &node.children {
                    assert_eq!(nodes[*child as usize].parent, Some(rank as u32), "{count}, {rank}");
                }
            }
            // Every rank is somebody's child, and nobody's ancestor is itself.
            for rank in 0..count {
                let above = |rank: &u32| nodes[*rank as usize].parent;
                let way = std::iter::successors(Some(rank), above).take(40).count();
                assert!(way as u32 <= 2 + count.ilog2(), "{count}: {rank} is {way} deep");
            }
        }
    }

    /// 0 above 8; 4 and 12 below it.
    #[test]
    fn the_first_tree_is_that_of_the_paper() {
        let nodes = tree(14, 0);
        let children = |rank: usize| nodes[rank].children.clone();
        assert_eq!(
            [children(0), children(8), children(4), children(12)],
            [vec![8], vec![4, 12], vec![2, 6], vec![10, 13]]
        );
    }

    #[test]
    fn a_leaf_of_one_tree_is_an_inner_node_of_the_other() {
        for count in 3..40 {
            let (first, second) = (tree(count, 0), tree(count, 1));
            let leaves = |tree: &[TreeNode], rank: usize| tree[rank].children.is_empty();
            let both = (0..count as usize).filter(|rank| leaves(&first, *rank) && leaves(&second, *rank));
            assert_eq!(both.count(), 0, "{count}");
        }
    }

    #[test]
    fn ranks_of_a_host_are_a_chain() {
        let at = |rank| node_of(rank, &[0, 0, 0, 1, 1], 0);
        assert_eq!(at(0), TreeNode { parent: None, children: vec![3, 1] });
        assert_eq!(at(1), TreeNode { parent: Some(0), children: vec![2] });
        assert_eq!(at(3), TreeNode { parent: Some(0), children: vec![4] });
        assert_eq!(at(4), TreeNode { parent: Some(3), children: vec![] });
    }
}
