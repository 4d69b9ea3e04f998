//! What can be chosen about lowering: every PARAM of `docs/lowering.md`, as one table from which
//! command line, script and screen are driven.

use crate::bir::{Arch, DgeType, Dtype, Inst, Mode};

/// Bytes that one descriptor moves at most.
pub const DESC_BYTES: u64 = 65_536;
/// Descriptors that a SWDGE ring holds.
pub const SWDGE_DEPTH: u64 = 1020;
/// Descriptors that a HWDGE ring holds.
pub const HWDGE_DEPTH: u64 = 65_520;
/// Engines that one transfer may be spread over: the bound of [`super::largest_factor`].
pub const MAX_PARALLEL_ENGINES: u64 = 16;

/// Descriptors that a ring of this kind holds; `None` where nobody generates them on the device.
pub fn ring_depth(dge: DgeType) -> Option<u64> {
    match dge {
        DgeType::Swdge => Some(SWDGE_DEPTH),
        DgeType::Hwdge => Some(HWDGE_DEPTH),
        DgeType::None | DgeType::Unassigned => None,
    }
}

/// Elements that one CCE descriptor takes. MODEL: a generation that is not told, or has no UDMA
/// number, has the limit of its nearest neighbour.
pub fn cce_elements(arch: Option<Arch>) -> u64 {
    arch.unwrap_or(Arch::Gen3).cce_elements()
}

/// How a transfer that needs more descriptors than its ring holds is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SplitRule {
    /// Pieces of `floor(depth / f) * f`, f the largest divisor that is at most 16.
    #[default]
    Factor,
    /// Pieces of the ring's depth.
    Greedy,
    /// As few pieces as possible, their sizes differing by at most one.
    Equal,
}

/// What `lower_dma` turns into blocks of descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Materialise {
    /// Every transfer.
    #[default]
    All,
    /// Only those whose descriptors the device does not generate itself: SWDGE and HWDGE copies
    /// stay `DMACopy`, as in late dumps.
    Static,
}

/// A fault that a pass commits on purpose, so that tests can show that the checks behind it see
/// it. For tests only: the table of options does not name it, so that no command line, script
/// or screen can reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Peel drops the final short chunk.
    LostRemainder,
    /// Unroll swaps the step of the dynamic dimension with the innermost one of the clone.
    SwappedStrideUnroll,
    /// `lower_dma` swaps the two innermost steps of every source that has two.
    SwappedStride,
    /// Unroll gives every clone but the first the index element (or the register) of the clone
    /// before it.
    ForeignBase,
    /// Split lets every piece but the first begin its source one element too early.
    OffByOneSplit,
    /// `lower_dma` leaves the last descriptor out of every block.
    DroppedDescriptor,
}

/// All choices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// PARAM M: elements of one descriptor. `None`: as many as 65536 bytes of the larger element
    /// type hold. Never more than that, and for CCE never more than its own limit.
    pub max_desc_elems: Option<u64>,
    /// PARAM: how a transfer beyond its ring's depth is split.
    pub split: SplitRule,
    /// PARAM: whether a transfer joins the block of the one directly before it, where both have
    /// engine, queue and class in common and nothing stands between them.
    pub reuse_block: bool,
    /// PARAM: descriptors of one block. `None`: 1020 for SWDGE, 65520 otherwise.
    pub max_block_descs: Option<u64>,
    /// PARAM: what becomes blocks of descriptors.
    pub materialise: Materialise,
    /// A fault committed on purpose; for tests only.
    pub mutation: Option<Mutation>,
}

/// A row of the table of options.
#[derive(Debug)]
pub struct OptionInfo {
    /// Name, as a command line or a script writes it.
    pub name: &'static str,
    /// Values that it takes.
    pub values: &'static str,
    /// Value where nothing is said.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// The table of options.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "max_desc_elems",
        values: "auto | N",
        default: "auto",
        doc: "elements that one descriptor covers at most; auto: 65536 bytes of the larger element type",
    },
    OptionInfo {
        name: "split",
        values: "factor | greedy | equal",
        default: "factor",
        doc: "how a transfer that needs more descriptors than its ring holds is split",
    },
    OptionInfo {
        name: "reuse_block",
        values: "off | on",
        default: "off",
        doc: "whether a transfer joins the block of the one directly before it in its queue",
    },
    OptionInfo {
        name: "max_block_descs",
        values: "auto | N",
        default: "auto",
        doc: "descriptors of one block at most; auto: 1020 for SWDGE, 65520 otherwise",
    },
    OptionInfo {
        name: "materialise",
        values: "all | static",
        default: "all",
        doc: "which transfers become blocks of descriptors; static leaves SWDGE and HWDGE copies",
    },
];

fn count(value: &str) -> Result<Option<u64>, String> {
    match value {
        "auto" => Ok(None),
        _ => match value.parse() {
            Ok(0) | Err(_) => Err(format!("`{value}` is neither `auto` nor a number above 0")),
            Ok(n) => Ok(Some(n)),
        },
    }
}

impl Options {
    /// Sets an option of the table by name.
    ///
    /// # Errors
    /// The name is not in the table, or the value is none that it takes; the text says which.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(info) = OPTIONS.iter().find(|o| o.name == name) else {
            let names: Vec<_> = OPTIONS.iter().map(|o| o.name).collect();
            return Err(format!("no option `{name}`; there are {}", names.join(", ")));
        };
        let wrong = || format!("`{name}` takes {}, not `{value}`", info.values);
        match name {
            "max_desc_elems" => self.max_desc_elems = count(value)?,
            "max_block_descs" => self.max_block_descs = count(value)?,
            "split" => {
                self.split = match value {
                    "factor" => SplitRule::Factor,
                    "greedy" => SplitRule::Greedy,
                    "equal" => SplitRule::Equal,
                    _ => return Err(wrong()),
                }
            }
            "reuse_block" => {
                self.reuse_block = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(wrong()),
                }
            }
            _ => {
                self.materialise = match value {
                    "all" => Materialise::All,
                    "static" => Materialise::Static,
                    _ => return Err(wrong()),
                }
            }
        }
        Ok(())
    }

    /// The value of an option of the table, as [`Options::set`] takes it.
    pub fn get(&self, name: &str) -> Option<String> {
        let number = |n: Option<u64>| n.map_or("auto".to_owned(), |n| n.to_string());
        Some(match name {
            "max_desc_elems" => number(self.max_desc_elems),
            "max_block_descs" => number(self.max_block_descs),
            "split" => match self.split {
                SplitRule::Factor => "factor".into(),
                SplitRule::Greedy => "greedy".into(),
                SplitRule::Equal => "equal".into(),
            },
            "reuse_block" => if self.reuse_block { "on" } else { "off" }.into(),
            "materialise" => match self.materialise {
                Materialise::All => "all".into(),
                Materialise::Static => "static".into(),
            },
            _ => return None,
        })
    }

    /// Elements that one descriptor of this transfer covers at most; at least 1.
    pub fn desc_elems(&self, inst: &Inst, arch: Option<Arch>) -> u64 {
        let operands = super::family::data_ins(inst).map(|(_, o)| o).chain(&inst.outs);
        let bytes = operands.filter_map(|o| o.dtype).map(Dtype::bytes).max().unwrap_or(1);
        let mut most = DESC_BYTES / bytes;
        if inst.dma().is_some_and(|d| d.mode == Mode::Cce) {
            most = most.min(cce_elements(arch));
        }
        self.max_desc_elems.map_or(most, |m| m.min(most)).max(1)
    }

    /// Descriptors of one block at most, for a transfer of this class.
    pub fn block_descs(&self, dge: DgeType) -> u64 {
        let most = if dge == DgeType::Swdge { SWDGE_DEPTH } else { HWDGE_DEPTH };
        self.max_block_descs.unwrap_or(most).max(1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_table_can_be_set_and_read_back() {
        let mut o = Options::default();
        for info in OPTIONS {
            assert_eq!(o.get(info.name).unwrap(), info.default, "{}", info.name);
            for value in info.values.split(" | ") {
                let value = if value == "N" { "7" } else { value };
                o.set(info.name, value).unwrap();
                assert_eq!(o.get(info.name).unwrap(), value, "{}", info.name);
            }
            assert!(o.set(info.name, "neither").is_err(), "{}", info.name);
            o.set(info.name, info.default).unwrap();
        }
        assert_eq!(o, Options::default());
        assert!(o.set("max_desc_elems", "0").is_err());
        assert!(o.set("mutation", "LostRemainder").is_err());
    }
}
