//! Pages to draw.

use proptest::prelude::*;
use tarebench_report::web::page::*;

pub const ROLES: [(PageRole, Symbol); 5] = [
    (PageRole::Good, Symbol::Circle),
    (PageRole::Spoiled, Symbol::Triangle),
    (PageRole::Drift, Symbol::Diamond),
    (PageRole::Other, Symbol::Square),
    (PageRole::Failed, Symbol::Cross),
];

pub fn classes() -> Vec<Class> {
    let titles = ["retained", "daemon over its cutoff", "drift", "ET only", "failed"];
    let class = |(title, (role, symbol)): (&str, (PageRole, Symbol))| Class { title: title.to_owned(), role, symbol };
    titles.into_iter().zip(ROLES).map(class).collect()
}

/// Samples with these values and classes.
pub fn plot(values: Vec<Option<i64>>, class: Vec<usize>) -> Plot {
    let n = values.len();
    Plot {
        id: "program-1".to_owned(),
        title: "sort big.txt".to_owned(),
        note: "ET 1.00 ms".to_owned(),
        measures: vec![PageMeasure {
            id: "et",
            title: "Elapsed time (ET)",
            values,
            bins: 20,
            lines: vec![PageLine { title: "mean of the retained".to_owned(), value: 1e6, end: None }],
            places: vec![],
        }],
        samples: Samples {
            number: (1..=n as u32).collect(),
            start: vec![0.0; n],
            classes: classes(),
            class,
            reason: vec![-1; n],
            executions: vec![None; n],
            ..Samples::default()
        },
        dual: DualOrWhy::Why("too few".to_owned()),
        tables: Vec::new(),
        quiet: None,
    }
}

pub fn page(plots: Vec<Plot>) -> Page {
    Page {
        format: "tare-page",
        version: 1,
        kind: PageKind::Run,
        title: "Run 1".into(),
        subtitle: "".into(),
        facts: Vec::new(),
        remarks: Vec::new(),
        overview: None,
        plots,
        timeline: None,
        parts: Vec::new(),
        tables: Vec::new(),
        foot: "".into(),
    }
}

/// Pseudo-random numbers, the same each time.
pub fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64
}

/// A central cluster, arms of disturbed samples and some of each other class, with zoom levels.
pub fn clusters(n: usize) -> Plot {
    let mut seed = 7;
    let (mut values, mut class) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let kind = noise(&mut seed);
        let (c, more) = match kind {
            k if k < 0.85 => (0, 0.0),
            k if k < 0.93 => (1, 0.2 + 0.8 * noise(&mut seed)),
            k if k < 0.96 => (2, 0.05),
            k if k < 0.98 => (3, 0.02),
            _ => (4, -0.1),
        };
        let spread = (0..6).map(|_| noise(&mut seed)).sum::<f64>() / 6.0 - 0.5;
        values.push(Some((812.4e6 * (1.0 + more) + 2e6 * spread) as i64));
        class.push(c);
    }
    let mut plot = plot(values, class);
    plot.measures[0].bins = 60;
    plot.measures[0].lines[0].value = 812.41e6;
    let (odd, even): (Vec<usize>, Vec<usize>) = (0..n / 2).map(|i| (2 * i, 2 * i + 1)).unzip();
    let inner = |i: &usize| plot.samples.class[*i] == 0;
    let level: Vec<u32> = odd.iter().zip(&even).map(|(a, b)| u32::from(inner(a) && inner(b))).collect();
    let levels = levels(&plot, &odd, &even, &level);
    plot.dual = DualOrWhy::Dual(PageDual { measure: "et", odd, even, level, levels });
    plot
}

pub fn levels(plot: &Plot, odd: &[usize], even: &[usize], level: &[u32]) -> Vec<PageLevel> {
    let dual = |zoom: u32, title: &str| {
        let range = |half: &[usize]| {
            let values =
                || half.iter().zip(level).filter(|(_, l)| **l >= zoom).map(|(i, _)| plot.measures[0].values[*i]);
            (values().flatten().min().unwrap_or(0), values().flatten().max().unwrap_or(0))
        };
        let members = level.iter().filter(|l| **l >= zoom).count() as u32;
        PageLevel { title: title.to_owned(), members, x: range(odd), y: range(even) }
    };
    vec![dual(0, "all"), dual(1, "central cluster")]
}

pub fn with_account(mut plot: Plot) -> Plot {
    let titles =
        ["net", "interrupts and softirqs", "waited for other tasks", "asleep", "launch, until exec", "reaping"];
    let entries = titles.map(|title| PageEntry { title, role: if title == "net" { "net" } else { "tare" } }).to_vec();
    let shares = [0.9, 0.03, 0.05, 0.0, 0.015, 0.005];
    let each = &plot.measures[0].values;
    let scaled = |share: f64| each.iter().map(|v| v.map(|v| (v as f64 * share) as i64)).collect();
    let values = shares.map(scaled).to_vec();
    let good = |i: &usize| plot.samples.class.get(*i) == Some(&0);
    let retained = (0..plot.samples.class.len()).filter(good).collect();
    plot.samples.account = Some(PageAccount { entries, values, retained });
    plot
}

pub fn small() -> Plot {
    let values = [1_000_000, 1_020_000, 990_000, 1_500_000, 1_010_000, 1_001_000].map(Some).to_vec();
    let mut plot = with_account(self::plot(values, vec![0, 0, 0, 1, 2, 0]));
    let (odd, even, level) = (vec![0, 2, 4], vec![1, 3, 5], vec![1, 0, 0]);
    let levels = levels(&plot, &odd, &even, &level);
    plot.dual = DualOrWhy::Dual(PageDual { measure: "et", odd, even, level, levels });
    plot
}

pub fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), 0i64..10_000_000_000, Just(0), 999_999_990i64..1_000_000_010]
}

pub fn any_plot() -> impl Strategy<Value = Plot> {
    let sample = (prop::option::weighted(0.9, any_time()), 0usize..8, any::<u32>());
    let pair = (0usize..40, 0usize..40, 0u32..4);
    let level = (any::<String>(), (any_time(), any_time()), (any_time(), any_time()));
    let line = (any::<String>(), any::<f64>());
    let columns = (
        prop::collection::vec(sample, 0..40),
        prop::collection::vec(pair, 0..30),
        prop::collection::vec(level, 0..4),
        prop::collection::vec(line, 0..20),
    );
    let account =
        prop::option::of(prop::collection::vec(prop::collection::vec(prop::option::of(any_time()), 0..9), 0..9));
    (columns, account, any::<u32>(), prop::collection::vec((any::<String>(), 0usize..5), 0..7), any::<[String; 3]>())
        .prop_map(|((samples, pairs, levels, lines), account, bins, classes, names)| {
            let mut plot = plot(samples.iter().map(|s| s.0).collect(), samples.iter().map(|s| s.1).collect());
            plot.samples.number = samples.iter().map(|s| s.2).collect();
            let class = |(title, i): (String, usize)| Class { title, role: ROLES[i].0, symbol: ROLES[i].1 };
            plot.samples.classes = classes.into_iter().map(class).collect();
            plot.samples.account = account.map(|values| PageAccount {
                entries: (0..8)
                    .map(|i| PageEntry { title: "entry", role: if i == 0 { "net" } else { "tare" } })
                    .collect(),
                values,
                retained: samples.iter().map(|s| s.1 * 7).collect(),
            });
            plot.measures[0].bins = bins;
            plot.measures[0].lines =
                lines.into_iter().map(|(title, value)| PageLine { title, value, end: None }).collect();
            plot.dual = DualOrWhy::Dual(PageDual {
                measure: "et",
                odd: pairs.iter().map(|p| p.0).collect(),
                even: pairs.iter().map(|p| p.1).collect(),
                level: pairs.iter().map(|p| p.2).collect(),
                levels: levels.into_iter().map(|(title, x, y)| PageLevel { title, members: 0, x, y }).collect(),
            });
            let [id, title, note] = names;
            Plot { id, title, note, ..plot }
        })
}
