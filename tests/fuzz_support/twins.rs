//! Seeds of the targets that put a fast way beside its plain twin: as few bytes as blow up to
//! rings of a size at which it begins.

/// Where a stretch of pairs begins: at hand, on the host, high.
const AT_HAND: [u8; 6] = [0; 6];
const HOST: [u8; 6] = [3, 0, 0, 0, 0, 0];
const HIGH: [u8; 4] = [11, 0, 0, 0];

/// `n` pairs that go on by the kinds `by`.
fn stretch(how: u8, from: &[u8], to: &[u8], by: [u8; 2], n: u16) -> Vec<u8> {
    let n = (n - 1).to_le_bytes();
    [&[0, how], from, to, &by, &n].concat()
}

/// A change of a slot.
fn spoil(at: u16, how: u8, bit: u8) -> Vec<u8> {
    let at = at.to_le_bytes();
    vec![6, at[0], at[1], how, bit]
}

/// Rings of several kinds.
fn rings() -> Vec<Vec<u8>> {
    let copies = |n| stretch(0x43, &HOST, &AT_HAND, [0, 0], n);
    let end = || [3, 0x4c].into_iter().chain(HOST).chain(HOST).collect::<Vec<u8>>();
    vec![
        copies(1100),
        [copies(513), spoil(300, 0, 26), spoil(511, 3, 7)].concat(),
        [copies(256), vec![4, 0xff, 1], copies(256)].concat(),
        [stretch(0x83, &HOST, &HIGH, [0, 0], 700), copies(300)].concat(),
        // Batches that end with a completion, many of them.
        [copies(7), end(), vec![5, 8, 60], vec![5, 39, 30]].concat(),
        [stretch(0x40, &AT_HAND, &HIGH, [4, 0], 64), stretch(0x45, &HIGH, &HOST, [5, 4], 70)]
            .concat(),
    ]
}

/// What a target begins with; `programs` and `modules` are texts of samples.
pub fn seeds(target: &str, programs: &[String], modules: &[String]) -> Vec<Vec<u8>> {
    let before = |heads: &[&[u8]]| -> Vec<Vec<u8>> {
        let all = rings();
        (0..heads.len() * all.len())
            .map(|k| [heads[k % heads.len()], &all[k / heads.len()]].concat())
            .collect()
    };
    let ended = |text: &str| [text.as_bytes(), &[0]].concat();
    // A run of a raw image, of a sample, of a text.
    let runs = || -> Vec<Vec<u8>> {
        let raw = before(&[&[0, 0], &[4, 1, 0, 0, 0xff, 0xff, 3], &[0x80, 0]]);
        let samples = (0..4).map(|k| vec![2 | k << 2]);
        let texts = programs.iter().map(|t| [&[3][..], &ended(t)].concat());
        raw.into_iter().chain(samples).chain(texts).collect()
    };
    match target {
        "survey" => before(&[&[0, 1, 0, 2], &[1, 1, 99, 0], &[2, 0, 0, 0], &[0x63, 2, 5, 0]]),
        "search" => {
            let questions: Vec<Vec<u8>> = [
                "length == 512",
                "tx phase != 1 || buf_ptr > 0x10000000",
                "rx index % 3 == 1 && first",
                "!(len_ctrl == 0xd000200) && meta_ctrl.write_barrier < 2",
            ]
            .iter()
            .enumerate()
            .map(|(k, q)| [&[k as u8], &ended(q)[..]].concat())
            .collect();
            before(&questions.iter().map(Vec::as_slice).collect::<Vec<_>>())
        }
        "leap" => {
            let heads = [[0; 6], [7, 100, 0, 1, 0, 2]];
            let with = |(k, run): (usize, Vec<u8>)| [&heads[k % 2][..], &run].concat();
            runs().into_iter().enumerate().map(with).collect()
        }
        "moves" => {
            let said = [
                "until tx.retired > 3\nuntil event % 7 == 3\nreverse-until tx.fetched == 1\n",
                "step 3 packet\nnext\nreverse-step\nfinish\ngoto 9\nreverse-next 2\n",
                "break marker\ncontinue\nuntil marker\nreverse-continue\ndoorbell\n",
            ];
            let with = |(k, run): (usize, Vec<u8>)| [ended(said[k % 3]), run].concat();
            runs().into_iter().enumerate().map(with).collect()
        }
        "extents" => (0..8u8)
            .map(|k| {
                let all = (0..240u32).map(|i| ((i * i * 31 + i * u32::from(k) * 7) >> 3) as u8);
                [k, k + 1, k + 2, k + 3].into_iter().chain(all).collect()
            })
            .collect(),
        "row" => before(&[
            &[0, 7, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x8a, 255, 255, 255, 255, 255, 255, 255, 255, 0],
        ]),
        "reload" => {
            let all = programs.iter().enumerate();
            all.map(|(k, t)| {
                let head = [k as u8 & 3, k as u8 * 9, 0, k as u8 * 5 + 3];
                [&head[..], &ended("  fence"), t.as_bytes()].concat()
            })
            .collect()
        }
        "batches" => {
            let read = modules.iter().map(|m| [&[1, 0, 0, 0], m.as_bytes()].concat());
            let made = (0..40u8).map(|k| vec![k * 5, k, k * 6, 1, k * 3, k, k, k * 4, 0]);
            read.chain(made).collect()
        }
        _ => Vec::new(),
    }
}
