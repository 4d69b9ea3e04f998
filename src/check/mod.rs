//! Lints over plain views of rings: what can be judged without running anything
//! (`docs/checks.md`; the rules of the format itself are in `docs/wire.md`).
//!
//! One file per family; each is a [`Check`] in [`CHECKS`]. A check reads slots through
//! [`RingView`] in blocks, so that an image of a gigabyte is scanned where it is mapped, and
//! it builds a message only while the report still takes it.

pub mod bits;
pub mod flip;
pub mod live;
pub mod masks;
pub mod operations;
pub mod order;
pub mod packet;
pub mod packets;
pub mod pairs;
pub mod phases;
pub mod ranges;
pub mod sentinels;
pub mod stride;
pub mod survey;
pub mod view;
pub mod wide;

pub use live::live;
pub use order::{Cursors, Order};
pub use survey::Survey;
pub use view::{DescView, ImageView, RingView, Slots, Surveyed};

use crate::diag::{Diagnostic, Place, Report, Severity, SlotRef};
use crate::limits::MAX_DIAGNOSTICS;
use crate::udma::{Dir, Generation, Profile};

/// The rings of one queue, either of which may be missing.
#[derive(Clone, Copy)]
pub struct RingPair<'a> {
    /// The Tx ring.
    pub tx: Option<&'a dyn RingView>,
    /// The Rx ring.
    pub rx: Option<&'a dyn RingView>,
    /// Generation.
    pub arch: Generation,
    /// Driver profile, for the limits that it programs.
    pub profile: &'static Profile,
    /// Engine and queue, where findings are to name them.
    pub queue: Option<(u32, u32)>,
    /// The first slot in time, where it is known; else it is inferred per ring.
    pub start: Option<u64>,
    /// The cursors, Tx then Rx, of rings that somebody has kept them of.
    pub cursors: [Option<Cursors>; 2],
}

impl<'a> RingPair<'a> {
    /// The ring of a direction.
    pub fn ring(&self, dir: Dir) -> Option<&'a dyn RingView> {
        match dir {
            Dir::Tx => self.tx,
            Dir::Rx => self.rx,
        }
    }
}

/// What a check sees: the rings, what a survey knows of them, and the order in time of each
/// ring's slots.
pub struct Context<'a> {
    /// The rings.
    pub pair: RingPair<'a>,
    survey: &'a Survey,
    /// Order of the Tx slots.
    pub tx_order: Option<Order>,
    /// Order of the Rx slots.
    pub rx_order: Option<Order>,
}

impl<'a> Context<'a> {
    /// Looks the rings over once for their order.
    pub fn new(pair: RingPair<'a>, survey: &'a Survey) -> Context<'a> {
        let order = |dir| {
            let ring = Surveyed { view: pair.ring(dir)?, chunks: survey.chunks(dir) };
            let order = Order::surveyed(ring, dir, pair.start);
            let known = pair.cursors[usize::from(dir == Dir::Rx)];
            Some(known.map_or(order, |c| order.known(c)))
        };
        Context { pair, survey, tx_order: order(Dir::Tx), rx_order: order(Dir::Rx) }
    }

    /// A direction's ring with its order.
    pub fn ring(&self, dir: Dir) -> Option<(&'a dyn RingView, Order)> {
        let order = match dir {
            Dir::Tx => self.tx_order,
            Dir::Rx => self.rx_order,
        };
        self.pair.ring(dir).zip(order)
    }

    /// A direction's ring with its survey and its order.
    pub fn surveyed(&self, dir: Dir) -> Option<(Surveyed<'a>, Order)> {
        let chunks = self.survey.chunks(dir);
        self.ring(dir).map(|(view, order)| (Surveyed { view, chunks }, order))
    }

    /// The used slots of a direction in the order of time.
    pub fn slots(&self, dir: Dir) -> Option<Slots<'a>> {
        self.surveyed(dir).map(|(ring, order)| Slots::surveyed(ring, order))
    }
}

/// Where checks put their findings.
pub struct Sink<'a> {
    report: &'a mut Report,
    queue: Option<(u32, u32)>,
}

impl<'a> Sink<'a> {
    /// A sink into a report; findings name `queue` where given.
    pub fn new(report: &'a mut Report, queue: Option<(u32, u32)>) -> Sink<'a> {
        Sink { report, queue }
    }

    /// A place in a ring.
    pub fn place(&self, dir: Dir, index: u64) -> Place {
        Place::slot(SlotRef { queue: self.queue, dir, index })
    }

    /// A finding at a slot. The message is built only if the report still takes it.
    pub fn at(
        &mut self,
        code: &'static str,
        (dir, index): (Dir, u64),
        message: impl FnOnce() -> String,
    ) {
        if self.report.items.len() < MAX_DIAGNOSTICS {
            let place = self.place(dir, index);
            self.report.push(Diagnostic::new(code, message()).at(place));
        } else {
            *self.report.dropped.entry(code).or_default() += 1;
        }
    }

    /// A finding that a check has built itself.
    pub fn push(&mut self, d: Diagnostic) {
        self.report.push(d);
    }

    /// A finding at a slot with another severity than the table's.
    pub fn with(
        &mut self,
        (code, severity): (&'static str, Severity),
        (dir, index): (Dir, u64),
        message: String,
    ) {
        let place = self.place(dir, index);
        self.report.push(Diagnostic::new(code, message).severity(severity).at(place));
    }
}

/// One family of lints.
pub trait Check: Sync {
    /// Short name.
    fn name(&self) -> &'static str;
    /// What it looks for, in one sentence.
    fn doc(&self) -> &'static str;
    /// Looks, and reports.
    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>);
}

/// Every check, in the order in which they run.
pub static CHECKS: &[&dyn Check] = &[
    &bits::Bits,
    &stride::Stride,
    &sentinels::Sentinels,
    &ranges::Ranges,
    &operations::Operations,
    &phases::Phases,
    &masks::Masks,
    &packets::Packets,
    &pairs::Pairs,
];

/// Runs every check over a queue's rings.
pub fn run(pair: RingPair<'_>) -> Report {
    run_surveyed(pair, &Survey::of(&pair))
}

/// The same with a survey of these rings that was made before, in parts perhaps. With an empty
/// one every slot is looked at by every check: the plain twin of [`run`].
pub fn run_surveyed(pair: RingPair<'_>, survey: &Survey) -> Report {
    let mut report = Report::default();
    let ctx = Context::new(pair, survey);
    let mut sink = Sink::new(&mut report, pair.queue);
    for check in CHECKS {
        check.run(&ctx, &mut sink);
    }
    report
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
