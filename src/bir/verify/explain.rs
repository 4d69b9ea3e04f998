//! Shapes and access patterns as a few lines of text.

use crate::bir::Pattern;
use std::fmt::Write as _;

/// Rows of a grid that are drawn.
const ROWS: u64 = 8;
/// Columns of a grid that are drawn.
const COLUMNS: u64 = 16;

/// `4x6`, the counts of a pattern; `1` where it has none.
pub fn shape_text(p: &Pattern) -> String {
    let nums: Vec<String> = p.pairs.iter().map(|p| p.num.to_string()).collect();
    if nums.is_empty() { "1".to_owned() } else { nums.join("x") }
}

/// The two innermost dimensions of a pattern as a grid, at most 10 lines of text: `.` is an
/// element before `marked` (its counters, outermost first), `X` is `marked`, `-` one after it.
/// Of large ones the part around it is drawn.
pub fn access_grid(shape: &[u64], marked: &[u64]) -> Vec<String> {
    let at = |k: usize| {
        let i = shape.len().checked_sub(k);
        let i = i.filter(|i| *i < marked.len());
        i.map_or((1, 0), |i| (shape[i], marked[i]))
    };
    let ((columns, column), (rows, row)) = (at(1), at(2));
    let window = |n: u64, at: u64, size: u64| {
        let from = at.saturating_sub(size / 2).min(n.saturating_sub(size));
        (from, n.min(from.saturating_add(size)))
    };
    let (c0, c1) = window(columns, column, COLUMNS);
    let (r0, r1) = window(rows, row, ROWS);
    let label = r1.saturating_sub(1).to_string().len();
    let cell = c1.saturating_sub(1).to_string().len();
    let before = if c0 > 0 { " .." } else { "" };
    let after = if c1 < columns { " .." } else { "" };
    let mut head = format!("{:label$}{before}", "");
    for c in c0..c1 {
        let _ = write!(head, " {c:>cell$}");
    }
    let mut out = vec![head + after];
    for r in r0..r1 {
        let mut line = format!("{r:>label$}{before}");
        for c in c0..c1 {
            let mark = match (r, c).cmp(&(row, column)) {
                std::cmp::Ordering::Less => '.',
                std::cmp::Ordering::Equal => 'X',
                std::cmp::Ordering::Greater => '-',
            };
            let _ = write!(line, " {mark:>cell$}");
        }
        out.push(line + after);
    }
    let outer: Vec<String> =
        marked.iter().take(shape.len().saturating_sub(2)).map(u64::to_string).collect();
    if !outer.is_empty() {
        out.push(format!("at outer counters {}", outer.join(", ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marked_element_is_in_its_row_and_column() {
        let g = access_grid(&[4, 5], &[3, 4]);
        assert_eq!(g, ["  0 1 2 3 4", "0 . . . . .", "1 . . . . .", "2 . . . . .", "3 . . . . X"]);
        let g = access_grid(&[3], &[1]);
        assert_eq!(g, ["  0 1 2", "0 . X -"]);
        assert_eq!(access_grid(&[], &[]), ["  0", "0 X"]);
    }

    #[test]
    fn a_grid_is_bounded_whatever_the_shape() {
        let g = access_grid(&[7, u64::MAX, u64::MAX], &[2, u64::MAX / 2, u64::MAX - 1]);
        assert!(g.len() <= 10, "{g:?}");
        assert!(g.iter().all(|l| l.len() < 500));
        assert_eq!(g.iter().filter(|l| l.contains('X')).count(), 1);
        assert!(g[9].ends_with('2'));
    }
}
