//! The timeline: a lane for each agent, and the scrubber.

use super::events;
use crate::diag::Severity;
use crate::engine::command::Loc;
use crate::engine::program::QueueId;
use crate::engine::ring::{Agent, Life, Phase};
use crate::engine::session::{Cell, Column, Did, Lane, Lanes, Looked, Signs, StopKind};
use crate::udma::{Dir, count_of};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Row, clip};
use crate::ui::source::short;
use crate::ui::theme::Theme;
use crate::ui::timeline::{NAMES, Strip};
use ratatui::style::{Modifier, Style};

/// Which part is shown, and how much of it is known.
pub fn title(model: &Model) -> String {
    let (Some(strip), Some(lanes)) = (model.derived.strip, &model.derived.lanes) else {
        return Pane::Timeline.name().to_owned();
    };
    let view = strip.view;
    let (known, end) = (model.session.known_to(), model.session.end());
    let last = view.last().min(end.unwrap_or(u64::MAX));
    let mut out = format!("event {}", model.session.position());
    match end {
        Some(end) => out.push_str(&format!(" of {end}")),
        None => out.push_str(&format!(", known to {known}, the end is not known yet")),
    }
    if view.from > 0 || last < end.unwrap_or(0) {
        out.push_str(&format!("; shown {} to {last}", view.from));
    }
    let per = view.len.div_ceil(view.columns);
    if per > 1 {
        out.push_str(&format!("; a column is {per_events}", per_events = count_of(per, "event")));
    }
    let worst = lanes.columns.iter().map(|c| c.looked).max().unwrap_or_default();
    out.push_str(match worst {
        Looked::Each => "",
        Looked::Counted => ", counted",
        Looked::Shared | Looked::Not => ", sampled",
    });
    if !lanes.stops && !model.session.stops().is_empty() {
        out.push_str(", stops not looked for");
    }
    out
}

/// What a row of the pane shows.
#[derive(Clone, Copy)]
enum Line {
    Lane(usize),
    /// All sequencers, the lanes after the host's up to this one.
    Seqs(usize),
    /// Both rings of a queue.
    Queue(usize, QueueId),
    /// What is handed over between who rings and the engines: doorbells down, the marker up.
    Handed,
}

/// The lines between the signs and the ruler. Where not all fit, those come last in which
/// nothing happens in the part that is shown; where that does not do, the sequencers have one.
fn lines(lanes: &Lanes, rows: usize) -> Vec<Line> {
    let agents = lanes.lanes.iter().filter(|l| !matches!(l, Lane::Ring(..))).count();
    let both = lanes.lanes.len() < rows;
    let rings = || {
        let all = lanes.lanes.iter().enumerate().skip(agents);
        all.filter_map(|(k, lane)| match *lane {
            Lane::Ring(id, Dir::Tx) if !both => Some(Line::Queue(k, id)),
            Lane::Ring(..) if both => Some(Line::Lane(k)),
            _ => None,
        })
    };
    let mut out: Vec<Line> = (0..agents).map(Line::Lane).collect();
    out.push(Line::Handed);
    out.extend(rings());
    if out.len() <= rows {
        return out;
    }
    let acts = |k: usize| {
        let at = |c: &Column| c.cells.get(k).is_some_and(|c| !c.did.is_empty());
        lanes.columns.iter().any(at)
    };
    let idle = |line: &Line| match *line {
        Line::Lane(k) => k > 0 && !acts(k),
        Line::Queue(k, _) => !acts(k) && !acts(k + 1),
        Line::Seqs(_) | Line::Handed => false,
    };
    out.sort_by_key(idle);
    let first_idle = out.iter().position(idle).unwrap_or(out.len());
    if first_idle > rows && agents > 2 {
        out = vec![Line::Lane(0), Line::Seqs(agents), Line::Handed];
        out.extend(rings());
        out.sort_by_key(idle);
    }
    out
}

/// How many lines there are, and how many of them fit.
pub fn scroll(model: &Model, height: usize) -> (usize, usize) {
    let rows = height.saturating_sub(2);
    let n = model.derived.lanes.as_ref().map_or(0, |l| lines(l, rows).len());
    (n, rows)
}

/// All rows.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let (Some(strip), Some(lanes)) = (model.derived.strip, &model.derived.lanes) else {
        return vec![Row::text(clip("too narrow for a timeline", width), t.dim())];
    };
    let d = Draw::new(model, strip, lanes);
    if height < 3 {
        return [d.ruler(), d.signs("")].into_iter().take(height).collect();
    }
    let (n, room) = scroll(model, height);
    let lines = lines(lanes, room);
    let top = model.scrub.top.min(n.saturating_sub(room));
    let below = n.saturating_sub(top + room);
    let mut out = vec![d.signs(&d.scrolled(top, below))];
    out.extend(lines.into_iter().skip(top).take(room).map(|line| d.line(line)));
    out.push(d.ruler());
    let left = height.saturating_sub(out.len());
    out.extend(d.legend(width, left));
    if room_for_events(model, width, height) > 0 {
        let line = d.glyph('─', '-').to_string();
        let rest = width.saturating_sub(" events ".len() + 1);
        out.push(Row::text(format!("{line} events {}", line.repeat(rest)), t.dim()));
        out.extend(events::rows(model, width));
    }
    out
}

/// The timeline as it is drawn, with every lane; nothing where there is none.
pub fn text(model: &Model) -> Option<Vec<String>> {
    let (strip, lanes) = (model.derived.strip?, model.derived.lanes.as_ref()?);
    let d = Draw::new(model, strip, lanes);
    let mut rows = vec![Row::text(title(model), model.theme.text()), d.signs("")];
    rows.extend(lines(lanes, usize::MAX).into_iter().map(|line| d.line(line)));
    rows.push(d.ruler());
    rows.extend(d.legend(usize::MAX, usize::MAX));
    Some(rows.iter().map(|r| r.to_text().trim_end().to_owned()).collect())
}

/// Whose lane it is, in words.
pub fn name(lane: Lane) -> String {
    match lane {
        Lane::Host => "host".to_owned(),
        Lane::Seq(e) => short(e).to_owned(),
        Lane::Ring(id, dir) => format!("{id} {dir}"),
    }
}

/// Rows of the signs, the lanes and the ruler.
pub fn lane_rows(model: &Model, height: usize) -> usize {
    let (n, room) = scroll(model, height);
    (n.min(room) + 2).min(height)
}

/// Fewest events that are shown below the lanes.
const LEAST_EVENTS: usize = 3;

/// How many events there is room for below the lanes, where no pane shows them.
pub fn room_for_events(model: &Model, width: usize, height: usize) -> usize {
    let (Some(strip), Some(lanes)) = (model.derived.strip, &model.derived.lanes) else { return 0 };
    if model.derived.areas.pane(Pane::Events).is_some() {
        return 0;
    }
    let left = height.saturating_sub(lane_rows(model, height));
    let legend = Draw::new(model, strip, lanes).legend(width, left).len();
    Some(left.saturating_sub(legend + 1)).filter(|n| *n >= LEAST_EVENTS).unwrap_or(0)
}

/// The line of the scrubber: where the run is, in one row.
pub fn scrubber(model: &Model, width: u16) -> Row {
    let t = model.theme;
    let (Some(strip), Some(lanes)) = (model.derived.strip, &model.derived.lanes) else {
        return Row::new();
    };
    let d = Draw::new(model, strip, lanes);
    let names = usize::from(NAMES);
    let from = format!("{:>1$} ", strip.view.from, names - 1);
    let mut row = Row::text(clip(&from, names), t.dim());
    let area = usize::from(model.strip_area().width);
    row.0.extend(d.strip(d.glyph('─', '-'), |cell, column, _| d.scrub_cell(cell, column)).0);
    row.pad_to(names + area);
    let end = match model.session.end() {
        Some(end) => format!(" {end}"),
        None => format!(" {}..?", model.session.known_to()),
    };
    row.push(clip(&end, usize::from(width).saturating_sub(names + area)), t.dim());
    row
}

/// What drawing needs.
struct Draw<'a> {
    model: &'a Model,
    t: Theme,
    strip: Strip,
    lanes: &'a Lanes,
    here: u64,
    /// The column of the position; the cell before all of them is none.
    cursor: Option<u64>,
    at_start: bool,
    /// Columns in which something was found, and how bad it is.
    found: Vec<(u64, Severity)>,
    /// Columns of marks, and of breakpoints at events.
    marks: Vec<u64>,
    stops: Vec<u64>,
}

impl<'a> Draw<'a> {
    fn new(model: &'a Model, strip: Strip, lanes: &'a Lanes) -> Draw<'a> {
        let s = &model.session;
        let here = s.position();
        let column = |n: &u64| strip.view.column_of(*n);
        let findings = s.machine().findings.iter();
        let found = findings
            .filter(|d| d.severity != Severity::Note && !model.title.policy.allows(d.code))
            .filter_map(|d| Some((column(&d.place.event?)?, d.severity)))
            .collect();
        let marks = s.marks().values().filter_map(column).collect();
        let at = |kind: &StopKind| match kind {
            StopKind::Break(Loc::Event(n)) => Some(*n),
            _ => None,
        };
        let stops = s.stops().iter().filter(|s| s.enabled).filter_map(|s| at(&s.kind));
        let stops = stops.filter_map(|n| column(&n)).collect();
        Draw {
            model,
            t: model.theme,
            strip,
            lanes,
            here,
            cursor: strip.view.column_of(here),
            at_start: here == strip.view.from,
            found,
            marks,
            stops,
        }
    }

    /// A row of the strip: a glyph and a style for each column, the first cell before them.
    /// `fill` stands in the cells of a column that its glyph leaves, where the run is known.
    fn strip(
        &self,
        fill: char,
        f: impl Fn(Option<u64>, Option<&Column>, bool) -> (char, Style),
    ) -> Row {
        let mut row = Row::new();
        let mut put = |glyph: char, style: Style, (cells, fill): (usize, char), lit: bool| {
            let style = if lit { self.t.lit(style) } else { style };
            let pad = cells.saturating_sub(1);
            match row.0.last_mut() {
                Some(p) if p.style == style && pad == 0 => p.text.push(glyph),
                _ => row.push(glyph.to_string(), style),
            }
            if pad > 0 {
                let style = if fill == ' ' { Style::new() } else { self.t.dim() };
                row.push(fill.to_string().repeat(pad), style);
            }
        };
        let (glyph, style) = f(None, None, self.at_start);
        put(glyph, style, (1, ' '), self.at_start);
        for (k, column) in self.lanes.columns.iter().enumerate() {
            let lit = self.cursor == Some(k as u64);
            let (glyph, style) = f(Some(k as u64), Some(column), lit);
            let known = column.known > self.strip.view.bounds(k as u64).0;
            let fill = if known { fill } else { ' ' };
            put(glyph, style, (usize::from(self.strip.wide), fill), lit);
        }
        row
    }

    fn name(&self, text: &str, mark: char, style: Style) -> Row {
        let room = usize::from(NAMES) - 2;
        let mut row = Row::text(mark.to_string(), self.t.accent());
        row.push(format!("{:<room$} ", clip(text, room)), style);
        row
    }

    fn glyph(&self, unicode: char, ascii: char) -> char {
        if self.t.ascii { ascii } else { unicode }
    }

    /// Whether a column lies behind the position as a whole.
    fn is_past(&self, column: u64) -> bool {
        self.strip.view.bounds(column).1 <= self.here
    }

    /// The sign of a column, the weightiest there is; less weighty where it is to come.
    fn sign(&self, k: u64, c: &Column) -> Option<(char, Style)> {
        let (glyph, style) = self.any_sign(k, c)?;
        let here = self.is_past(k) || self.cursor == Some(k);
        Some((glyph, if here { style } else { self.t.dim() }))
    }

    fn any_sign(&self, k: u64, c: &Column) -> Option<(char, Style)> {
        let t = self.t;
        let found = self
            .found
            .iter()
            .filter(|f| f.0 == k)
            .map(|f| f.1)
            .max_by_key(|s| u8::from(*s == Severity::Error));
        if c.signs.contains(Signs::FAULT) {
            return Some(('!', t.error()));
        }
        if let Some(severity) = found {
            return Some(('!', t.severity(severity)));
        }
        if c.signs.contains(Signs::FLIP) {
            return Some((self.glyph('⚑', 'P'), t.good()));
        }
        if c.signs.contains(Signs::STOP) || self.stops.contains(&k) {
            return Some(('B', t.error()));
        }
        self.marks.contains(&k).then_some(('m', t.accent()))
    }

    /// How many lines there are above those that are shown, and below.
    fn scrolled(&self, above: usize, below: usize) -> String {
        let both = self.t.scrolled(above as u64, below as u64);
        if both.is_empty() { both } else { format!("more {both}") }
    }

    /// The signs above the lanes; beside them what does not fit.
    fn signs(&self, name: &str) -> Row {
        let mut row = self.name(name, ' ', self.t.dim());
        row.0.extend(
            self.strip(' ', |k, c, _| match (k, c) {
                (Some(k), Some(c)) => self.sign(k, c).unwrap_or((' ', Style::new())),
                _ => (' ', Style::new()),
            })
            .0,
        );
        row
    }

    /// The line below the lanes: how much was looked at, where batches end, where the run is.
    fn ruler(&self) -> Row {
        let t = self.t;
        let from = format!("{:>1$} ", self.strip.view.from, usize::from(NAMES) - 1);
        let mut row = Row::text(clip(&from, usize::from(NAMES)), t.dim());
        row.0.extend(
            self.strip(self.glyph('─', '-'), |k, c, here| {
                let style = if k.is_none_or(|k| self.is_past(k)) { t.text() } else { t.dim() };
                match c {
                    _ if here => (self.glyph('▲', '^'), t.accent()),
                    None => (self.glyph('├', '|'), t.dim()),
                    Some(c) => (self.track(k.unwrap_or(0), c), style),
                }
            })
            .0,
        );
        row
    }

    /// How much of a column was looked at, or that a batch ends there.
    fn track(&self, k: u64, c: &Column) -> char {
        let (after, _) = self.strip.view.bounds(k);
        if c.known <= after {
            return if self.model.session.end().is_some() { ' ' } else { '?' };
        }
        match c.signs.contains(Signs::BATCH) {
            true => self.glyph('┴', '+'),
            false => self.looked(c.looked),
        }
    }

    fn looked(&self, looked: Looked) -> char {
        match looked {
            Looked::Each => self.glyph('─', '-'),
            Looked::Counted => self.glyph('╌', '='),
            Looked::Shared => '~',
            Looked::Not => '?',
        }
    }

    fn line(&self, line: Line) -> Row {
        match line {
            Line::Handed => {
                let (bell, marker) = (self.glyph('▼', 'v'), self.glyph('↑', 'A'));
                let mut row = self.name(&format!("{bell}bell {marker}flag"), ' ', self.t.dim());
                row.0.extend(self.strip(' ', |k, c, _| self.handed(k, c)).0);
                row
            }
            Line::Lane(at) => {
                let lane = self.lanes.lanes[at];
                let mut row = self.label(lane, false);
                row.0.extend(self.strip(' ', |k, c, _| self.cell(lane, &[at], k, c)).0);
                row
            }
            Line::Seqs(end) => {
                let at: Vec<usize> = (1..end).collect();
                let mut row = self.label_of(&self.lanes.lanes[1..end], "sequencers");
                let lane = self.lanes.lanes[1];
                row.0.extend(self.strip(' ', |k, c, _| self.cell(lane, &at, k, c)).0);
                row
            }
            Line::Queue(at, id) => {
                let lane = Lane::Ring(id, Dir::Tx);
                let mut row = self.label(lane, true);
                row.0.extend(self.strip(' ', |k, c, _| self.cell(lane, &[at, at + 1], k, c)).0);
                row
            }
        }
    }

    /// The name of a lane.
    fn label(&self, lane: Lane, both: bool) -> Row {
        let text = match lane {
            Lane::Ring(id, _) if both => id.to_string(),
            Lane::Host | Lane::Seq(_) | Lane::Ring(_, Dir::Tx) => name(lane),
            Lane::Ring(id, Dir::Rx) => format!("{:>1$}", "rx", id.to_string().len() + 3),
        };
        self.label_of(&[lane], &text)
    }

    /// A name, with a mark where the agent of one of these lanes acted last or acts next.
    fn label_of(&self, lanes: &[Lane], text: &str) -> Row {
        let t = self.t;
        let one = |agent: Agent, lane: Lane| match (lane, agent) {
            (Lane::Host, Agent::Host) => true,
            (Lane::Seq(a), Agent::Seq(b)) => a == b,
            (Lane::Ring(a, _), Agent::Engine(b)) => a == b,
            _ => false,
        };
        let is = |agent: Agent| lanes.iter().any(|lane| one(agent, *lane));
        let last = self.model.session.last_event().is_some_and(|e| is(e.agent));
        let next = self.model.derived.next.is_some_and(|e| is(e.agent));
        let mark = match (next, last) {
            (true, _) => t.waits(),
            (false, true) => t.cursor(),
            _ => ' ',
        };
        self.name(text, mark, if next { t.strong() } else { t.text() })
    }

    /// An arrow down where a doorbell was written, one up where the marker came.
    fn handed(&self, k: Option<u64>, c: Option<&Column>) -> (char, Style) {
        let (Some(k), Some(c)) = (k, c) else { return (' ', Style::new()) };
        let (glyph, style) = if !c.rung.is_empty() {
            let style = self.t.phase(Phase::Doorbell).add_modifier(Modifier::BOLD);
            (self.glyph('▼', 'v'), style)
        } else if !c.flipped.is_empty() {
            (self.glyph('↑', 'A'), self.t.good())
        } else {
            return (' ', Style::new());
        };
        (glyph, if self.is_past(k) { style } else { self.t.dim() })
    }

    /// What passes a lane in which nothing happens: a doorbell that comes down to its ring or to
    /// one below, or the marker that comes up from one below.
    fn passes(&self, at: &[usize], k: u64, c: &Column) -> (char, Style) {
        let t = self.t;
        let below = |all: &[usize]| all.iter().any(|r| at.iter().all(|i| i < r));
        let (glyph, style) = if at.iter().any(|i| c.rung.contains(i)) {
            (self.glyph('▼', 'v'), t.phase(Phase::Doorbell))
        } else if below(&c.rung) {
            (self.glyph('│', '|'), t.phase(Phase::Doorbell))
        } else if below(&c.flipped) {
            (self.glyph('│', '|'), t.good())
        } else {
            (' ', Style::new())
        };
        (glyph, if self.is_past(k) { style } else { t.dim() })
    }

    /// What agents did in a column: a letter where a column is an event, else how much of it.
    fn cell(&self, lane: Lane, at: &[usize], k: Option<u64>, c: Option<&Column>) -> (char, Style) {
        let t = self.t;
        let (Some(k), Some(c)) = (k, c) else { return (' ', Style::new()) };
        let mut sum = Cell::default();
        for cell in at.iter().filter_map(|i| c.cells.get(*i)) {
            sum.did |= cell.did;
            sum.count = sum.count.saturating_add(cell.count);
        }
        if sum.did.is_empty() {
            return match lane {
                Lane::Ring(..) => self.passes(at, k, c),
                _ => (' ', Style::new()),
            };
        }
        let glyph = if self.strip.view.is_single() {
            letter(sum.did)
        } else {
            self.density(sum.count, c.events)
        };
        let style = match kind(t, sum.did) {
            style if self.is_past(k) || self.cursor == Some(k) => style,
            _ if sum.did.contains(Did::FAULT) => t.error(),
            _ => t.dim(),
        };
        (glyph, style)
    }

    /// How much of a column's events an agent's are.
    fn density(&self, count: u64, of: u64) -> char {
        let levels: &[char] = match self.t.ascii {
            false => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            true => &['.', ':', '-', '=', '+', '*', '#', '@'],
        };
        let n = levels.len() as u64;
        let level = count.min(of).saturating_mul(n).div_ceil(of.max(1)).clamp(1, n);
        levels[level as usize - 1]
    }

    /// What the scrubber shows of a column.
    fn scrub_cell(&self, k: Option<u64>, c: Option<&Column>) -> (char, Style) {
        let t = self.t;
        let (Some(k), Some(c)) = (k, c) else { return (self.glyph('├', '|'), t.dim()) };
        if let Some(sign) = self.sign(k, c) {
            return sign;
        }
        let past = self.is_past(k);
        if self.cursor == Some(k) {
            return (self.glyph('▲', '^'), t.accent());
        }
        let track = self.track(k, c);
        let passed = past && track == self.glyph('─', '-');
        let glyph = if passed { self.glyph('━', '=') } else { track };
        (glyph, if past { t.text() } else { t.dim() })
    }

    /// What the signs mean, in as many rows as there are; the first have to do where there are
    /// fewer than it takes.
    fn legend(&self, width: usize, rows: usize) -> Vec<Row> {
        let g = |unicode, ascii| self.glyph(unicode, ascii);
        let mut items = vec![
            format!("{} marker flips", g('⚑', 'P')),
            "! found".to_owned(),
            "B stop".to_owned(),
            "m mark".to_owned(),
            format!("{} batch ends", g('┴', '+')),
        ];
        match self.strip.view.is_single() {
            true => {
                let columns = || self.lanes.columns.iter().flat_map(|c| &c.cells);
                let here = LETTERS.iter().filter(|l| columns().any(|c| c.did.contains(l.0)));
                items.extend(here.map(|(_, letter, what)| format!("{letter} {what}")));
            }
            false => items.push("height: share of the column's events".to_owned()),
        }
        // What is not looked at event by event is said, where there is any.
        let tracks =
            [(Looked::Counted, "counted"), (Looked::Shared, "shared by columns beside it")];
        let looked = |l| self.lanes.columns.iter().any(|c| c.looked == l);
        let found = tracks.into_iter().filter(|t| looked(t.0));
        items.extend(found.map(|(l, what)| format!("{} {what}", self.looked(l))));
        let unknown = |(k, c): (usize, &Column)| self.track(k as u64, c) == '?';
        if self.lanes.columns.iter().enumerate().any(unknown) {
            items.push("? not known".to_owned());
        }
        let names = usize::from(NAMES);
        let mut out: Vec<String> = Vec::new();
        for item in items {
            match out.last_mut() {
                Some(l) if l.chars().count() + 2 + item.chars().count() <= width => {
                    l.push_str("  ");
                    l.push_str(&item);
                }
                _ => out.push(format!("{:names$}{item}", "")),
            }
        }
        let dim = self.t.dim();
        out.into_iter().take(rows).map(|l| Row::text(clip(&l, width), dim)).collect()
    }
}

/// What one event was: its letter, and a word for that.
const LETTERS: [(Did, char, &str); 14] = [
    (Did::CALL, 'c', "call"),
    (Did::STAGE, 's', "stage"),
    (Did::TRIGGER, 't', "trigger"),
    (Did::BELL, 'd', "register"),
    (Did::POLL, 'p', "poll"),
    (Did::ACK, 'a', "ack"),
    (Did::INST, 'i', "instruction"),
    (Did::SEM, 'e', "semaphore"),
    (Did::FETCH, 'f', "fetch"),
    (Did::READ, 'r', "read"),
    (Did::WRITE, 'w', "write"),
    (Did::RETIRE, 'o', "retire"),
    (Did::STALL, 'x', "stuck"),
    (Did::FAULT, '!', "fault"),
];

/// The letters for what one event was, and a word for each.
pub fn letters() -> impl Iterator<Item = (char, &'static str)> {
    LETTERS.into_iter().map(|(_, letter, word)| (letter, word))
}

/// A letter for what one event was.
fn letter(did: Did) -> char {
    LETTERS.into_iter().rev().find(|l| did.contains(l.0)).map_or('?', |l| l.1)
}

/// The colour of what was done: that of the phase it belongs to.
fn kind(t: Theme, did: Did) -> Style {
    let phase = |p| t.phase(p);
    if did.contains(Did::FAULT) {
        t.error()
    } else if did.contains(Did::STALL) {
        t.severity(Severity::Warning)
    } else if did.contains(Did::WRITE) {
        t.life(Life::Visible)
    } else if did.intersects(Did::FETCH | Did::READ) {
        t.life(Life::Fetched)
    } else if did.contains(Did::RETIRE) {
        t.life(Life::Retired)
    } else if did.contains(Did::BELL) {
        phase(Phase::Doorbell)
    } else if did.contains(Did::ACK) {
        phase(Phase::Ack)
    } else if did.contains(Did::TRIGGER) {
        phase(Phase::Trigger)
    } else if did.contains(Did::STAGE) {
        phase(Phase::Stage)
    } else if did.contains(Did::POLL) {
        phase(Phase::Poll)
    } else {
        t.text()
    }
}
