//! Reads figures back.

use std::collections::BTreeMap;

/// Checks what every figure must have; returns its tree.
pub fn checked(text: &str) -> roxmltree::Document<'_> {
    let tree = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let root = tree.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    assert_eq!(root.attribute("role"), Some("img"));
    assert_eq!(root.attribute("font-family"), Some("sans-serif"));
    let number = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (number("width"), number("height"));
    assert_eq!(root.attribute("viewBox").unwrap(), format!("0 0 {width} {height}"));
    let mut children = root.children().filter(|n| n.is_element()).map(|n| n.tag_name().name().to_owned());
    assert_eq!(children.next().as_deref(), Some("title"));
    assert_eq!(children.next().as_deref(), Some("desc"));
    for node in tree.descendants() {
        for name in ["x", "y", "width", "height"] {
            let Some(value) = node.attribute(name) else { continue };
            let value: f64 = value.parse().unwrap();
            assert!((0.0..=width.max(height)).contains(&value), "{name} = {value} in {text}");
        }
        let path = node.attribute("d").unwrap_or_default();
        assert!(path.chars().all(|c| c.is_ascii_digit() || " .-MmLlHhVvaz".contains(c)), "{path}");
    }
    tree
}

/// Centres of the points of each class, px, by class title.
pub fn points(tree: &roxmltree::Document<'_>) -> BTreeMap<String, Vec<(f64, f64)>> {
    let paths = tree.descendants().filter(|n| n.attribute("class") == Some("points"));
    paths
        .map(|path| {
            let title = path.first_element_child().unwrap().text().unwrap().split(": ").next().unwrap().to_owned();
            let at = path.attribute("d").unwrap().split('M').skip(1).map(|point| {
                let (x, rest) = point.split_once(' ').unwrap();
                let (y, _) = rest.split_once('m').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            });
            (title, at.collect())
        })
        .collect()
}

/// A straight line from px to ns through an axis's outermost ticks; the unit is in its title.
pub fn scale(tree: &roxmltree::Document<'_>, axis: &str, coordinate: &str) -> impl Fn(f64) -> f64 + use<> {
    let group = tree.descendants().find(|n| n.attribute("class") == Some(axis)).unwrap();
    let ticks: Vec<(f64, f64)> = group
        .children()
        .filter(|n| n.tag_name().name() == "text")
        .map(|n| {
            (n.attribute(coordinate).unwrap().parse().unwrap(), n.text().unwrap().replace('−', "-").parse().unwrap())
        })
        .collect();
    let all: String = tree.descendants().filter_map(|n| n.text()).collect();
    let unit =
        [("[ns]", 1.0), ("[µs]", 1e3), ("[ms]", 1e6), ("[s]", 1e9)].iter().find(|u| all.contains(u.0)).unwrap().1;
    let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
    assert!(ticks.len() > 1);
    // Labels of a vertical axis stand a little below their ticks, all alike.
    let lower = if coordinate == "y" { 12.0 * 0.35 } else { 0.0 };
    move |px| unit * (first.1 + (px + lower - first.0) / (last.0 - first.0) * (last.1 - first.1))
}
