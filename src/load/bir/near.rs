//! Words that look like known ones: what reading says about a misspelling (`docs/bir.md`,
//! "Misspellings"). Files drift, so that a word that nobody knows is kept without a word; one
//! that is nearly a known one is more likely a mistake.

use super::decode::Decoder;
use super::spans::{Fault, Span};
use crate::bir::{Name, Opcode};
use crate::engine::command::distance;
use crate::limits::MAX_MISSPELLINGS;
use std::collections::HashMap;

/// Longer words are nobody's misspelling.
const LONGEST: usize = 48;

/// Opcodes that are opaque and look like one that is not.
const OPAQUE: [&str; 4] = ["Pool", "IndirectCopy", "TensorLoad", "TensorSave"];

/// The known word that another is likely meant to be: one edit away in words of four letters or
/// more, two in words of six or more; upper and lower case are not told apart.
pub(super) fn near<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let most = |len: usize| match len {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    known
        .filter(|k| *k != word && k.len().abs_diff(word.len()) <= 2)
        .map(|k| (distance(&lower, &k.to_ascii_lowercase()), k))
        .filter(|(d, k)| *d <= most(k.len().max(word.len())))
        .min()
        .map(|(_, k)| k)
}

/// The known opcode that another is likely meant to be.
pub(super) fn opcode(word: &str) -> Option<&'static str> {
    if OPAQUE.contains(&word) {
        return None;
    }
    near(word, Opcode::NAMES.iter().copied())
}

/// What was found near, so that a word is looked at once wherever it stands.
#[derive(Default)]
pub(super) struct Misspelt {
    known: HashMap<(Name, Name), Option<&'static str>>,
    told: usize,
}

impl Decoder {
    /// Says so where `word` looks like one of `known`. `holder` names the list of known words.
    pub(super) fn misspelt(
        &mut self,
        at: Span,
        (holder, what): (&str, &str),
        word: &str,
        known: &mut dyn Iterator<Item = &'static str>,
    ) {
        if word.is_empty() || word.len() > LONGEST {
            return;
        }
        let key = (self.intern(holder), self.intern(word));
        let found = *self.misspelt.known.entry(key).or_insert_with(|| near(word, known));
        if let Some(like) = found {
            let why = format!("{what} `{word}` is not known, and passed over");
            self.tell(Fault::new("B017", at, why).help(format!("did you mean `{like}`?")));
        }
    }

    /// Reports a word that looks misspelled, the first ones of a file only.
    pub(super) fn tell(&mut self, fault: Fault) {
        if self.misspelt.told < MAX_MISSPELLINGS {
            self.misspelt.told += 1;
            self.report(fault);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_near_and_another_word_is_not() {
        for (word, meant) in [
            ("DMACpy", "DMACopy"),
            ("dmacopy", "DMACopy"),
            ("DMATriger", "DMATrigger"),
            ("Laod", "Load"),
            ("Sav", "Save"),
            ("DMADescriptorTransposed", "DMADescriptorTranspose"),
        ] {
            assert_eq!(opcode(word), Some(meant), "{word}");
        }
        assert_eq!(opcode("DMACopy"), None);
        assert_eq!(near("ids", ["ins", "outs"].into_iter()), None);
        assert_eq!(near(&"x".repeat(100), ["ins"].into_iter()), None);
    }

    /// The opcodes of the compiler that are opaque here, old ones among them.
    #[test]
    fn opcodes_that_are_known_to_be_opaque_are_no_misspellings() {
        let all = "Generic GenericCopy GenericRelu AbstractCopy Activation \
            ReadActivationAccumulator LoadActFuncSet MatmultBase Matmult MatmultSparse Memset \
            GetGlobalRankId Drain Halt Pool Reciprocal TensorCopy TensorCopyDynamicSrc \
            TensorCopyDynamicDst IndirectCopy TensorReduce TensorScalar TensorScalarPtr \
            TensorScalarCache TensorTensor GPSIMDSB2SB BNStats BNStatsAggregate BNGradients \
            BNBackprop BNBackprop2 StreamShuffle StreamTranspose Collective CollectiveCompute \
            CollectiveSend CollectiveRecv Select CopyPredicated CustomOp BIRKernel NKIKernel \
            NKIKLIRKernel DevicePrint GetRandState SetRandState Rand Iota \
            TensorScalarAffineSelect RangeSelect GetSequenceBounds Dropout \
            GetCurProcessingRankID TensorLoad TensorSave Terminator BranchHint Return Exit \
            Break Call SwitchQueueInstance ResetQueueInstance CoreBarrier Max MaxIndex \
            MatchReplace MaxIndexAndMatchReplace Gather InlineASMBytes TensorCompletion \
            MatmultMx QuantizeMx Rand2 RandSetState RandGetState Rng \
            ActivationReadAccumulator DveReadAccumulator Exponential NonzeroWithCount \
            TongaReduceMacroSymbolic Shuffle CalcVarAddr MatmultSymbolic RangeSelectSymbolic \
            ShuffleSymbolic StreamShuffleSymbolic TensorScalarSymbolic CalcVarAddrSymbolic \
            IotaSymbolic TensorScalarAffineSelectSymbolic FutureTensorOp";
        for word in all.split_whitespace() {
            assert_eq!(opcode(word), None, "{word}");
        }
    }
}
