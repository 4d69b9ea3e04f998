//! Where the elements of an access lie, as a grid: the bytes of a location in rows, and which
//! descriptor touches which of them (`docs/screen.md`, "Access grid").
//!
//! Addresses come from the interpreter's own walks ([`crate::bir::Walk`]); nothing here works an
//! access pattern out anew.

/// Bytes in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What it is: the location or region, in words.
    pub name: String,
    /// What a row is: `partition`, `row`.
    pub row_name: &'static str,
    /// Flat address of its first byte.
    pub base: u64,
    /// Flat bytes from one row to the next.
    pub stride: u64,
    /// Bytes of a row.
    pub pitch: u64,
    /// How many rows.
    pub rows: u64,
    /// Bytes of an element.
    pub elem: u64,
    /// Number of the first row, as it is told.
    pub first: u64,
}

impl Shape {
    /// Elements of a row.
    pub fn columns(&self) -> u64 {
        self.pitch.div_ceil(self.elem.max(1))
    }

    /// Row and element of a flat address, where it lies in it.
    pub fn place(&self, flat: u64) -> Option<(u64, u64)> {
        let at = flat.checked_sub(self.base)?;
        let (row, byte) = (at.checked_div(self.stride)?, at % self.stride);
        (row < self.rows && byte < self.pitch).then(|| (row, byte / self.elem.max(1)))
    }

    /// Row and element of the first byte and of the last one that it has of `len` bytes at a flat
    /// address: a stretch may begin and end between its rows, or before and after them.
    pub fn ends(&self, at: u64, len: u64) -> Option<((u64, u64), (u64, u64))> {
        let last = at.saturating_add(len.checked_sub(1)?).checked_sub(self.base)?;
        let first = at.saturating_sub(self.base);
        let (elem, most) = (self.elem.max(1), self.pitch.checked_sub(1)?);
        let mut a = (first.checked_div(self.stride)?, first % self.stride);
        if a.1 > most {
            a = (a.0 + 1, 0);
        }
        let mut b = (last / self.stride, (last % self.stride).min(most));
        if b.0 >= self.rows {
            b = (self.rows.checked_sub(1)?, most);
        }
        (a <= b).then_some(((a.0, a.1 / elem), (b.0, b.1 / elem)))
    }
}

/// Bytes that one descriptor touches, in the order in which it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Number of the descriptor among those of the transfer.
    pub number: usize,
    /// Flat runs of bytes, in order.
    pub runs: Vec<(u64, u64)>,
}

/// A stretch that is touched by the same descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Flat address.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// The first descriptor in order that touches it.
    pub first: usize,
    /// How often it is touched.
    pub times: u32,
    /// How often by the current descriptor.
    pub by_current: u32,
}

/// One side of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// `source`, `destination`, or `source 2` of several.
    pub name: String,
    /// The pattern of the current descriptor in words.
    pub pattern: String,
    /// The location.
    pub shape: Shape,
    /// All touches, by descriptor.
    pub touches: Vec<Touch>,
    /// Not all runs were taken: there are too many.
    pub cut: bool,
    /// The number of the current descriptor.
    pub current: usize,
}

impl Side {
    /// The stretches that are touched, ascending and apart.
    pub fn segments(&self) -> Vec<Segment> {
        // At each address: what begins and what ends.
        let mut edges: Vec<(u64, bool, usize)> = Vec::new();
        for t in &self.touches {
            for (at, len) in &t.runs {
                edges.push((*at, true, t.number));
                edges.push((at.saturating_add(*len), false, t.number));
            }
        }
        edges.sort_unstable();
        let mut open: std::collections::BTreeMap<usize, u32> = std::collections::BTreeMap::new();
        let mut out: Vec<Segment> = Vec::new();
        let mut from = 0;
        for (at, begins, number) in edges {
            if at > from
                && let Some((first, _)) = open.first_key_value()
            {
                let by_current = open.get(&self.current).copied().unwrap_or(0);
                let times = open.values().sum();
                let s = Segment { at: from, len: at - from, first: *first, times, by_current };
                match out.last_mut() {
                    Some(l)
                        if l.at + l.len == s.at && Segment { at: l.at, len: l.len, ..s } == *l =>
                    {
                        l.len += s.len;
                    }
                    _ => out.push(s),
                }
            }
            from = at;
            if begins {
                *open.entry(number).or_default() += 1;
            } else if let Some(n) = open.get_mut(&number) {
                *n -= 1;
                if *n == 0 {
                    open.remove(&number);
                }
            }
        }
        out
    }
}

/// What a cell of the grid stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// The first descriptor that touches any of it.
    pub first: Option<usize>,
    /// The current descriptor touches some of it.
    pub lit: bool,
    /// Some of it is touched more than once.
    pub twice: bool,
    /// It lies in the location.
    pub inside: bool,
}

/// The part of a shape that is drawn: rows and elements, and how many of each are one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First row and element.
    pub from: (u64, u64),
    /// Rows and elements of a cell.
    pub scale: (u64, u64),
    /// Rows and columns of cells.
    pub room: (usize, usize),
}

/// The cells of a window.
pub fn cells(shape: &Shape, segments: &[Segment], w: Window) -> Vec<Vec<Cell>> {
    let (tall, wide) = w.room;
    let scale = (w.scale.0.max(1), w.scale.1.max(1));
    let mut out = vec![vec![Cell::default(); wide]; tall];
    let elem = shape.elem.max(1);
    for (r, line) in out.iter_mut().enumerate() {
        let first = w.from.0.saturating_add((r as u64).saturating_mul(scale.0));
        for (c, cell) in line.iter_mut().enumerate() {
            let column = w.from.1.saturating_add((c as u64).saturating_mul(scale.1));
            cell.inside = first < shape.rows && column < shape.columns();
        }
        let last = first.saturating_add(scale.0).min(shape.rows);
        for row in first..last {
            let start = shape.base.saturating_add(row.saturating_mul(shape.stride));
            let lo = start.saturating_add(w.from.1.saturating_mul(elem));
            let hi = start.saturating_add(shape.pitch);
            if lo >= hi {
                continue;
            }
            let mut k = segments.partition_point(|s| s.at.saturating_add(s.len) <= lo);
            while let Some(s) = segments.get(k).filter(|s| s.at < hi) {
                k += 1;
                let from = (s.at.max(lo) - start) / elem;
                let to = ((s.at + s.len).min(hi) - start).div_ceil(elem);
                let cell_of = |e: u64| ((e - w.from.1) / scale.1).min(wide as u64) as usize;
                let (a, b) = (cell_of(from), cell_of(to.max(from + 1) - 1));
                for cell in line.iter_mut().take(b + 1).skip(a) {
                    cell.first = Some(cell.first.map_or(s.first, |f| f.min(s.first)));
                    cell.lit |= s.by_current > 0;
                    cell.twice |= s.times > 1;
                }
            }
        }
    }
    out
}

/// For each cell how many bytes the descriptor goes through before the first of the cell's that it
/// touches.
pub fn order(shape: &Shape, touch: &Touch, w: Window) -> Vec<Vec<Option<u64>>> {
    let (tall, wide) = w.room;
    let scale = (w.scale.0.max(1), w.scale.1.max(1));
    let mut out = vec![vec![None; wide]; tall];
    let elem = shape.elem.max(1);
    let mut before: u64 = 0;
    for (at, len) in &touch.runs {
        let mut from = *at;
        let end = at.saturating_add(*len);
        // A run may go on over several rows.
        while from < end {
            let Some(((row, column), _)) = shape.ends(from, end - from) else { break };
            let start = shape.base + row * shape.stride;
            let to = end.min(start + shape.pitch);
            let last = (to - 1 - start) / elem;
            let r = row.checked_sub(w.from.0).map(|r| r / scale.0);
            if let Some(line) = r.and_then(|r| out.get_mut(usize::try_from(r).ok()?)) {
                let first = column.max(w.from.1);
                let cell_of = |e: u64| ((e - w.from.1) / scale.1).min(wide as u64) as usize;
                if last >= first {
                    let cells = line.iter_mut().enumerate();
                    for (c, cell) in cells.take(cell_of(last) + 1).skip(cell_of(first)) {
                        let e = (w.from.1 + c as u64 * scale.1).max(column);
                        let n = before + (start + e * elem).saturating_sub(*at);
                        *cell = Some(cell.map_or(n, |o: u64| o.min(n)));
                    }
                }
            }
            from = if to < end { start + shape.stride } else { end };
        }
        before = before.saturating_add(*len);
    }
    out
}

/// The window that shows all that is touched, as large as there is room for.
pub fn fit(shape: &Shape, segments: &[Segment], room: (usize, usize)) -> Window {
    let room = (room.0.max(1), room.1.max(1));
    let (mut lo, mut hi) = ((u64::MAX, u64::MAX), (0, 0));
    for s in segments {
        let Some((a, b)) = shape.ends(s.at, s.len) else { continue };
        // What goes on in the next row fills both.
        let columns = if a.0 == b.0 { (a.1, b.1) } else { (0, shape.columns().max(1) - 1) };
        lo = (lo.0.min(a.0), lo.1.min(columns.0));
        hi = (hi.0.max(b.0), hi.1.max(columns.1));
    }
    if lo.0 == u64::MAX {
        (lo, hi) = ((0, 0), (shape.rows.max(1) - 1, shape.columns().max(1) - 1));
    }
    // What lies before it is in sight where it fits.
    if hi.0 < room.0 as u64 {
        lo.0 = 0;
    }
    if hi.1 < room.1 as u64 {
        lo.1 = 0;
    }
    let (rows, columns) = (whole(lo.0, hi.0, room.0), whole(lo.1, hi.1, room.1));
    let (from, scale) = ((rows.0, columns.0), (rows.1, columns.1));
    Window { from, scale, room }
}

/// Where cells begin and how many rows or elements each has, so that `lo` to `hi` are in sight. They
/// begin at whole multiples, so that scrolling does not change them; which may take one more cell
/// than there is room for, and then a larger scale.
fn whole(lo: u64, hi: u64, room: usize) -> (u64, u64) {
    let (room, n) = (room as u64, hi.saturating_sub(lo));
    let fits = |s: &u64| hi - lo / s * s < s.saturating_mul(room);
    let least = n.saturating_add(1).div_ceil(room).max(1);
    // However `lo` lies, it leaves all but one of the cells for what follows.
    let enough = if room == 1 { hi.saturating_add(1) } else { n / (room - 1) + 1 };
    let scale = (least..enough).take(8).find(fits).unwrap_or(enough);
    (lo / scale * scale, scale)
}

/// The grids of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Of what: instruction, or slot.
    pub title: String,
    /// At which event it was or will be so.
    pub when: String,
    /// For each descriptor as the current one: sources, then the destination.
    all: Vec<Vec<Side>>,
    /// Numbers of the descriptors that there are.
    pub numbers: Vec<usize>,
    /// The current one, by its place in `numbers`.
    pub current: usize,
    /// Which side is scrolled.
    pub side: usize,
    /// How far it is scrolled, in cells down and right.
    pub scroll: (i64, i64),
    /// By how many halvings the scale is finer (negative), or coarser.
    pub zoom: i32,
    /// Cells of the current descriptor tell in which order it touches them.
    pub order: bool,
}

impl Grid {
    pub(super) fn new(
        title: String,
        when: String,
        all: Vec<Vec<Side>>,
        numbers: Vec<usize>,
        current: usize,
    ) -> Result<Grid, String> {
        if all.get(current).is_none_or(Vec::is_empty) {
            return Err(format!("{title}: it names no address of a location or region"));
        }
        Ok(Grid {
            title,
            when,
            all,
            numbers,
            current,
            side: 0,
            scroll: (0, 0),
            zoom: 0,
            order: false,
        })
    }

    /// Which of the transfer's descriptors the current one is, from 1 on.
    pub fn number(&self) -> usize {
        self.numbers.get(self.current).map_or(0, |n| n + 1)
    }

    /// The sides of the current descriptor.
    pub fn sides(&self) -> &[Side] {
        self.all.get(self.current).map_or(&[], Vec::as_slice)
    }

    /// To another descriptor of the transfer, going round.
    pub fn step(&mut self, by: i64) {
        let n = self.numbers.len().max(1) as i64;
        self.current = (self.current as i64 + by).rem_euclid(n) as usize;
        self.side = self.side.min(self.sides().len().saturating_sub(1));
    }

    /// To another side.
    pub fn turn(&mut self, by: i64) {
        let n = self.sides().len().max(1) as i64;
        self.side = (self.side as i64 + by).rem_euclid(n) as usize;
        self.scroll = (0, 0);
    }

    /// The window of a side: all that is touched, or as it was scrolled and scaled.
    pub fn window(&self, k: usize, segments: &[Segment], room: (usize, usize)) -> Window {
        let Some(side) = self.sides().get(k) else {
            return Window { from: (0, 0), scale: (1, 1), room };
        };
        let mut w = fit(&side.shape, segments, room);
        let scaled = |n: u64| match self.zoom {
            z if z < 0 => (n >> z.unsigned_abs().min(32)).max(1),
            z => n.saturating_mul(1 << z.min(32)),
        };
        w.scale = (scaled(w.scale.0), scaled(w.scale.1));
        if k == self.side {
            let moved = |from: u64, by: i64, scale: u64, n: u64| {
                let by = by.saturating_mul(scale.min(1 << 40) as i64);
                from.saturating_add_signed(by).min(n.saturating_sub(1))
            };
            w.from.0 = moved(w.from.0, self.scroll.0, w.scale.0, side.shape.rows);
            w.from.1 = moved(w.from.1, self.scroll.1, w.scale.1, side.shape.columns());
        }
        w
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::Walk;
    use crate::bir::walk::Dim;
    use proptest::prelude::*;

    fn walks() -> impl Strategy<Value = Walk> {
        let dim = (-5i64..9, 1u64..5).prop_map(|(step, num)| (step, num));
        (prop::collection::vec(dim, 0..4), prop::sample::select(vec![1u64, 2, 4]), 0u64..40)
            .prop_map(|(dims, elem, at)| {
                let step = |s: i64| s * elem as i64;
                let dims = dims.into_iter().map(|(s, num)| Dim { step: step(s), num }).collect();
                Walk { start: 10_000 + 400 * elem + at * elem, dims, elem }
            })
    }

    /// Two bytes, the last one of a row and the one after it, which lies in no row.
    #[test]
    fn what_leaves_its_row_is_in_the_window_all_the_same() {
        let shape = Shape {
            name: String::new(),
            row_name: "row",
            base: 10_000,
            stride: 16,
            pitch: 11,
            rows: 100,
            elem: 1,
            first: 0,
        };
        assert_eq!(shape.ends(10_410, 2), Some(((25, 10), (25, 10))));
        assert_eq!(shape.ends(10_411, 2), None);
        assert_eq!(shape.ends(10_411, 6), Some(((26, 0), (26, 0))));
        assert_eq!(shape.ends(9_990, 12), Some(((0, 0), (0, 1))));
        assert_eq!(shape.ends(10_000 + 99 * 16, 400), Some(((99, 0), (99, 10))));
        assert_eq!(shape.ends(10_000 + 100 * 16, 4), None);
        assert_eq!((shape.ends(9_000, 20), shape.ends(10_000, 0)), (None, None));
        let s = Segment { at: 10_410, len: 2, first: 0, times: 1, by_current: 1 };
        let w = fit(&shape, &[s], (7, 9));
        assert!(w.from.0 <= 25 && 25 < w.from.0 + 7 * w.scale.0, "{w:?}");
        // And what begins between rows has its order in the next.
        let touch = Touch { number: 0, runs: vec![(10_014, 4)] };
        let drawn = order(&shape, &touch, Window { from: (0, 0), scale: (1, 1), room: (3, 3) });
        assert_eq!(drawn[1], [Some(2), Some(3), None]);
    }

    proptest! {
        /// A cell says of its elements what going through all addresses one by one says.
        #[test]
        fn cells_are_the_elements_at_the_walks_addresses(
            all in prop::collection::vec(walks(), 1..4),
            pick in 0usize..4,
            (stride, short) in (8u64..40, 0u64..8),
            from in (0u64..12, 0u64..12),
            scale in (1u64..4, 1u64..4),
        ) {
            let elem = all[0].elem;
            let all: Vec<Walk> = all.into_iter().map(|w| Walk { elem, ..w }).collect();
            let current = pick % all.len();
            let touches = all.iter().enumerate();
            let touches: Vec<Touch> =
                touches.map(|(number, w)| Touch { number, runs: w.runs().collect() }).collect();
            let shape = Shape {
                name: String::new(),
                row_name: "row",
                base: 10_000,
                stride: stride * elem,
                pitch: (stride - short) * elem,
                rows: 100,
                elem,
                first: 0,
            };
            let (name, pattern) = (String::new(), String::new());
            let side = Side { name, pattern, shape: shape.clone(), touches, cut: false, current };
            let segments = side.segments();
            // The order of a cell is that of its first byte.
            let window = Window { from, scale, room: (20, 10) };
            let touch = &side.touches[current];
            for (r, line) in order(&shape, touch, window).iter().enumerate() {
                for (c, cell) in line.iter().enumerate() {
                    let visits = all[current].addresses().flat_map(|a| a..a + elem).enumerate();
                    let mut own = visits.filter(|(_, b)| {
                        shape.place(*b).is_some_and(|(row, column)| {
                            row >= from.0 && column >= from.1
                                && (row - from.0) / scale.0 == r as u64
                                && (column - from.1) / scale.1 == c as u64
                        })
                    });
                    prop_assert_eq!(*cell, own.next().map(|(n, _)| n as u64));
                }
            }
            prop_assert!(segments.windows(2).all(|w| w[0].at + w[0].len <= w[1].at));
            let window = Window { from, scale, room: (20, 10) };
            let drawn = cells(&shape, &segments, window);
            // One byte at a time: which descriptors, how often.
            let mut bytes: std::collections::HashMap<u64, Vec<usize>> = Default::default();
            for (n, w) in all.iter().enumerate() {
                for a in w.addresses() {
                    (a..a + elem).for_each(|b| bytes.entry(b).or_default().push(n));
                }
            }
            for (r, line) in drawn.iter().enumerate() {
                for (c, cell) in line.iter().enumerate() {
                    let mut of: Vec<&Vec<usize>> = Vec::new();
                    for row in 0..scale.0 {
                        for column in 0..scale.1 {
                            let row = from.0 + r as u64 * scale.0 + row;
                            let column = from.1 + c as u64 * scale.1 + column;
                            if row >= shape.rows || column >= shape.columns() {
                                continue;
                            }
                            let at = shape.base + row * shape.stride + column * elem;
                            of.extend((at..at + elem).filter_map(|b| bytes.get(&b)));
                        }
                    }
                    let first = of.iter().flat_map(|n| n.iter()).min().copied();
                    prop_assert_eq!(cell.first, first);
                    prop_assert_eq!(cell.lit, of.iter().any(|n| n.contains(&current)));
                    prop_assert_eq!(cell.twice, of.iter().any(|n| n.len() > 1));
                }
            }
            // What fits shows everything that is touched.
            let window = fit(&shape, &segments, (7, 9));
            let drawn = cells(&shape, &segments, window);
            for s in &segments {
                // Whatever of it lies in the rows, though it begin or end between them.
                for (row, column) in (s.at..s.at + s.len).filter_map(|b| shape.place(b)) {
                    prop_assert!(row >= window.from.0 && column >= window.from.1);
                    let r = (row - window.from.0) / window.scale.0;
                    let c = (column - window.from.1) / window.scale.1;
                    prop_assert!(r < 7 && c < 9, "{:?} {:?}", window, s);
                    prop_assert!(drawn[r as usize][c as usize].first.is_some());
                }
            }
        }
    }
}
