//! What orders the marker behind the data (`docs/order.md`; MODEL, all of it).

use super::{Chain, View};
use crate::udma::{Desc, Dir};

impl View<'_> {
    /// The engine works: what is before the completion pair, and which barrier orders it.
    pub(super) fn in_work(&self, chain: &mut Chain) {
        let Some((k, rx)) = self.marker_rx() else {
            chain.cause(self.elsewhere(Dir::Rx, self.written(Dir::Rx)));
            return;
        };
        let hw = self.q.hw(Dir::Rx);
        if k >= hw.posted {
            let n = self.ahead.bells[1].map(|e| format!("; RX is rung at event {}", e.n));
            chain.cause(format!(
                "the completion pair at {} is not posted{}",
                self.slots(Dir::Rx, k, 1),
                n.unwrap_or_default()
            ));
            return;
        }
        let tx = self.q.hw(Dir::Tx);
        if self.unposted(Dir::Tx) > 0 && self.marker_tx().is_some_and(|(k, _)| k >= tx.posted) {
            chain.cause(format!(
                "TX is rung for {} of {} written descriptors: the completion pair's is not among them",
                tx.posted,
                self.written(Dir::Tx)
            ));
        }
        let before = k.saturating_sub(hw.visible.max(hw.retired));
        let marker = self.slots(Dir::Rx, k, 1);
        if k < hw.visible {
            chain.cause(format!("the completion pair at {marker} is visible, and not retired yet"));
            return;
        }
        if before == 0 {
            chain.cause(format!(
                "nothing is wrong, it is simply not done: the completion pair at {marker} is next"
            ));
            return;
        }
        let data = self.slots(Dir::Rx, hw.visible.max(hw.retired), before);
        chain.cause(format!(
            "nothing is wrong, it is simply not done: {data} becomes visible before the completion pair at {marker}"
        ));
        chain.cause(match self.barrier(rx) {
            Some(barrier) => format!("{barrier} puts {data} before the marker (MODEL)"),
            None => format!(
                "no barrier orders {data} before the marker: hardware may show the marker first (MODEL; `info races`)"
            ),
        });
    }

    /// The Tx descriptor of the completion pair.
    fn marker_tx(&self) -> Option<(u64, Desc)> {
        let own = |d: &Desc| d.ptr == self.q.marker && d.length() == 4;
        self.pending(Dir::Tx).filter(|(_, d)| own(d)).last()
    }

    /// The barrier that keeps the marker behind the data.
    fn barrier(&self, marker: Desc) -> Option<String> {
        let sow = |d: &Desc| d.flag(d.view(Dir::Rx), "strong_order");
        if sow(&marker) {
            return Some("SOW on the completion pair's Rx descriptor".to_owned());
        }
        let (at, own) = self.marker_tx()?;
        let flag = |d: &Desc, name| !d.is_meta() && d.flag(d.view(Dir::Tx), name);
        if flag(&own, "dmb") {
            return Some(format!("DMB on the completion pair's {}", self.slots(Dir::Tx, at, 1)));
        }
        let earlier: Vec<(u64, Desc)> = self.pending(Dir::Tx).filter(|(k, _)| *k < at).collect();
        for (k, d) in earlier.iter().rev() {
            let slot = self.slots(Dir::Tx, *k, 1);
            if flag(d, "write_barrier") {
                return Some(format!("the write barrier of {slot}"));
            }
            if flag(d, "dmb") {
                return Some(format!("the DMB of {slot}, read as `full`,"));
            }
        }
        let end = self.marker_rx()?.0;
        let strong = self.pending(Dir::Rx).filter(|(k, d)| *k < end && sow(d)).last()?;
        Some(format!("the SOW of {}, read as `through`,", self.slots(Dir::Rx, strong.0, 1)))
    }
}
