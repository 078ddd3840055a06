//! The figures in SVG: well-formed, complete, and with their points in the right places.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod pages;
mod read;

use pages::*;
use proptest::prelude::*;
use read::*;
use std::collections::BTreeMap;
use tarebench_report::svg::figures::figures;
use tarebench_report::web::page::*;

fn files(plots: Vec<Plot>) -> BTreeMap<String, String> {
    figures(&page(plots)).unwrap().into_iter().collect()
}

/// Points must be where they are expected, within `near`.
fn assert_places(of: &[(f64, f64)], expected: &[(f64, f64)], near: f64) {
    assert_eq!(of.len(), expected.len());
    for (a, b) in of.iter().zip(expected) {
        assert!((a.0 - b.0).abs() < near && (a.1 - b.1).abs() < near, "{a:?} is not {b:?}");
    }
}

/// What rounding coordinates of points and ticks to two decimals allows, ns.
fn rounding(scale: impl Fn(f64) -> f64) -> f64 {
    0.03 * (scale(1.0) - scale(0.0)).abs()
}

#[test]
fn figures_of_a_small_page() {
    let all = figures(&page(vec![small()])).unwrap();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    insta::assert_snapshot!("names", names.join("\n"));
    insta::assert_snapshot!("scatter", all[0].1);
    insta::assert_snapshot!("account", all[4].1);
    assert_eq!(all, figures(&page(vec![small()])).unwrap());
}

#[test]
fn every_pair_is_in_its_place_with_the_class_of_its_worse_half() {
    let plot = clusters(400);
    let DualOrWhy::Dual(dual) = plot.dual.clone() else { panic!() };
    let all = files(vec![plot.clone()]);
    for (zoom, name) in [(0, "program-1-scatter.svg"), (1, "program-1-scatter-zoom1.svg")] {
        let mut expected: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for ((odd, even), level) in dual.odd.iter().zip(&dual.even).zip(&dual.level) {
            if *level < zoom {
                continue;
            }
            let value = |i: usize| plot.measures[0].values[i].unwrap() as f64;
            let badness = [0, 3, 2, 1, 4];
            let class = [*odd, *even].map(|i| plot.samples.class[i]).into_iter().max_by_key(|c| badness[*c]).unwrap();
            expected.entry(classes()[class].title.clone()).or_default().push((value(*odd), value(*even)));
        }
        let tree = checked(&all[name]);
        let (x, y) = (scale(&tree, "x-axis", "x"), scale(&tree, "y-axis", "y"));
        let drawn = points(&tree);
        assert_eq!(drawn.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (class, at) in drawn {
            let at: Vec<(f64, f64)> = at.into_iter().map(|(a, b)| (x(a), y(b))).collect();
            assert_places(&at, &expected[&class], rounding(&x));
        }
    }
}

#[test]
fn axes_of_a_level_hold_all_of_it_at_one_scale() {
    // Even halves far longer: the axes' ends differ.
    let mut aside = clusters(400);
    aside.measures[0].values.iter_mut().skip(1).step_by(2).flatten().for_each(|v| *v *= 3);
    let DualOrWhy::Dual(dual) = aside.dual.clone() else { panic!() };
    let levels = levels(&aside, &dual.odd, &dual.even, &dual.level);
    aside.dual = DualOrWhy::Dual(PageDual { levels, ..dual });
    let all = files(vec![clusters(400), small(), aside]);
    for (name, text) in all.iter().filter(|(name, _)| name.contains("scatter")) {
        let tree = checked(text);
        let (x, y) = (scale(&tree, "x-axis", "x"), scale(&tree, "y-axis", "y"));
        assert!(((x(100.0) - x(200.0)) / (y(200.0) - y(100.0)) - 1.0).abs() < 1e-3, "{name}");
        // The frame's sides are the first lines that are not of the grid.
        let sides: Vec<Vec<f64>> = tree
            .root_element()
            .children()
            .filter(|n| n.tag_name().name() == "path" && n.attribute("class").is_none())
            .map(|n| n.attribute("d").unwrap().split(['M', 'L', ' ']).filter_map(|v| v.parse().ok()).collect())
            .collect();
        let (left, top, bottom, right) = (sides[0][0], sides[0][1], sides[0][3], sides[1][2]);
        assert!((right - left - (bottom - top)).abs() < 0.02, "{name} is no square");
        for (a, b) in points(&tree).into_values().flatten() {
            assert!(a > left && a < right && b > top && b < bottom, "{name}: {a} {b}");
        }
    }
}

#[test]
fn sequences_show_each_sample_once() {
    let plot = clusters(301);
    let all = files(vec![plot.clone()]);
    let tree = checked(&all["program-1-sequence.svg"]);
    let y = scale(&tree, "y-axis", "y");
    let drawn = points(&tree);
    for (i, class) in classes().iter().enumerate() {
        let of = plot.samples.class.iter().zip(&plot.measures[0].values).filter(|(c, _)| **c == i);
        let expected: Vec<(f64, f64)> = of.map(|(_, v)| (0.0, v.unwrap() as f64)).collect();
        let at: Vec<(f64, f64)> = drawn[&class.title].iter().map(|p| (0.0, y(p.1))).collect();
        assert_places(&at, &expected, rounding(&y));
    }
    assert!(all["program-1-sequence.svg"].contains("mean of the retained: 0.8124 s"));
}

#[test]
fn histograms_count_each_sample_once() {
    let all = files(vec![clusters(500)]);
    let tree = checked(&all["program-1-histogram.svg"]);
    let y = |px: f64| {
        let group = tree.descendants().find(|n| n.attribute("class") == Some("y-axis")).unwrap();
        let ticks: Vec<(f64, f64)> = group
            .children()
            .filter(|n| n.tag_name().name() == "text")
            .map(|n| (n.attribute("y").unwrap().parse().unwrap(), n.text().unwrap().parse().unwrap()))
            .collect();
        px * (ticks[1].1 - ticks[0].1) / (ticks[0].0 - ticks[1].0)
    };
    for bars in tree.descendants().filter(|n| n.attribute("class") == Some("bars")) {
        let heights = bars.attribute("d").unwrap().split('M').skip(1).map(|bar| {
            let numbers: Vec<f64> = bar.split([' ', 'H', 'V', 'z']).filter_map(|v| v.parse().ok()).collect();
            numbers[1] - numbers[3]
        });
        let total = heights.map(|h| y(h).round()).sum::<f64>();
        let title = bars.first_element_child().unwrap().text().unwrap();
        assert_eq!(title.rsplit(": ").next().unwrap(), total.to_string());
    }
}

#[test]
fn accounts_are_means_of_the_retained() {
    let all = files(vec![small()]);
    let text = &all["program-1-account.svg"];
    checked(text);
    // Of 1000, 1020, 990 and 1001 µs.
    assert!(text.contains("gross 1.00 ms = net 902 µs + tare 100 µs; mean of 4 retained samples"), "{text}");
    assert!(text.contains("90 %") && text.contains("5.0 %") && text.contains("1.5 %"));
}

#[test]
fn hostile_names_stay_text() {
    let long = "x y".repeat(5_000);
    let names = [
        "<script>alert(1)</script>",
        "\"'&amp;]]>",
        "\0\x01\x1b[31m\r\n\t\u{9b}",
        "\u{202e}שלום\u{fffe}\u{ffff}",
        &long,
    ];
    for name in names {
        let mut plot = small();
        plot.title = name.to_owned();
        plot.id = name.to_owned();
        plot.note = name.to_owned();
        plot.samples.classes.iter_mut().for_each(|c| c.title = name.to_owned());
        plot.measures[0].lines[0].title = name.to_owned();
        let mut page = page(vec![plot]);
        page.title = name.into();
        let all = figures(&page).unwrap();
        assert_eq!(all.len(), 5);
        for (file, text) in all {
            let tree = checked(&text);
            assert!(tree.descendants().all(|n| n.tag_name().name() != "script"));
            assert!(file.len() < 120 && !file.contains(['/', '\0', '<', '\n']), "{file}");
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{fffe}')));
        }
    }
}

#[test]
fn few_equal_and_missing_values() {
    assert!(files(vec![plot(vec![], vec![])]).is_empty());
    assert!(files(vec![plot(vec![None, None], vec![0, 0])]).is_empty());
    for values in [vec![Some(0)], vec![Some(1_234)], vec![Some(5_000_000); 9], vec![None, Some(-3), None]] {
        let n = values.len();
        let all = files(vec![plot(values, vec![0; n])]);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["program-1-histogram.svg", "program-1-sequence.svg"]);
        all.values().for_each(|text| drop(checked(text)));
    }
}

#[test]
fn places_and_sloping_lines_are_in_the_sequence() {
    let place = |title: &str, number| PagePlace { title: title.to_owned(), number };
    let mut plot = clusters(301);
    plot.measures[0].places = vec![place("step", 101), place("nowhere", 9_999)];
    plot.measures[0].lines[0].end = Some(812.4e6 * 1.3);
    let all = files(vec![plot]);
    checked(&all["program-1-sequence.svg"]);
    let text = &all["program-1-sequence.svg"];
    assert!(text.contains("step: sample 101") && !text.contains("nowhere"), "{text}");
    assert!(text.contains("mean of the retained: 0.8124 s to 1.0561 s"), "{text}");
}

#[test]
fn wrong_positions_and_classes_are_left_out() {
    let mut plot = small();
    plot.samples.class = vec![0, 0, 99, 1, 2];
    let DualOrWhy::Dual(dual) = &mut plot.dual else { panic!() };
    dual.odd = vec![0, 2, usize::MAX];
    let all = files(vec![plot]);
    let tree = checked(&all["program-1-scatter.svg"]);
    assert_eq!(points(&tree).values().map(Vec::len).sum::<usize>(), 1);
    assert!(all["program-1-sequence.svg"].contains("4 samples"));
}

#[test]
fn the_first_measure_with_values_is_shown_and_names_are_unique() {
    let mut plot = small();
    let nothing = PageMeasure {
        id: "pt",
        title: "CPU time (PT)",
        values: vec![None; 6],
        bins: 10,
        lines: vec![],
        places: vec![],
    };
    plot.measures.insert(0, nothing);
    let all = files(vec![plot.clone(), plot]);
    assert_eq!(all.len(), 10);
    assert!(all["program-1-2-sequence.svg"].contains("Elapsed time (ET)"));
}

#[test]
fn many_samples_give_files_of_a_reasonable_size() {
    for (n, most) in [(10_000, 1_500_000), (100_000, 12_000_000)] {
        for (name, text) in files(vec![with_account(clusters(n))]) {
            assert!(text.len() < most, "{name}: {} bytes", text.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_page_gives_well_formed_figures(plots in prop::collection::vec(any_plot(), 0..3), title in any::<String>()) {
        let page = Page { title: title.into(), ..page(plots) };
        let all = figures(&page).unwrap();
        let names: std::collections::BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
        prop_assert_eq!(names.len(), all.len());
        for (_, text) in &all {
            checked(text);
        }
    }
}
