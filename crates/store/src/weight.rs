//! How much memory a JSON text takes once it is read: `{"":0}`, six bytes of a file, takes a hundred times as much, so that the
//! length of a file alone does not bound it.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// An element of a list: a [`serde_json::Value`] has 32 bytes, and a vector that grows may be half empty.
const ELEMENT: u64 = 64;
/// A node of a map, with room for this number of entries.
const NODE: u64 = 640;
const NODE_ENTRIES: u64 = 11;
/// An entry of a map of several nodes, which are at least half full.
const ENTRY: u64 = 160;
/// The smallest piece of memory that holds a text.
const TEXT: u64 = 32;

/// Whether the values of a JSON text take at most so much memory. The characters of its texts do not count: they take no more than
/// in the file.
///
/// # Errors
/// If it is not JSON, as far as it was read.
pub(crate) fn fits(text: &[u8], limit: u64) -> Result<bool, serde_json::Error> {
    let left = Cell::new(Some(limit));
    let weighed = Weigher { left: &left }.deserialize(&mut serde_json::Deserializer::from_slice(text));
    match left.get() {
        None => Ok(false),
        Some(_) => weighed.map(|()| true),
    }
}

#[derive(Clone, Copy)]
struct Weigher<'a> {
    /// `None` if the limit was passed.
    left: &'a Cell<Option<u64>>,
}

impl Weigher<'_> {
    fn add<E: Error>(self, bytes: u64) -> Result<(), E> {
        self.left.set(self.left.get().and_then(|left| left.checked_sub(bytes)));
        match self.left.get() {
            Some(_) => Ok(()),
            None => Err(E::custom("too much memory")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Weigher<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weigher<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.add(TEXT)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        // The first element makes room for four.
        self.add(ELEMENT)?;
        while list.next_element_seed(self)?.is_some() {
            self.add(ELEMENT)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut entries = 0;
        while map.next_key::<IgnoredAny>()?.is_some() {
            let room = match entries {
                0 => NODE,
                1..NODE_ENTRIES => 0,
                _ => ENTRY,
            };
            self.add(TEXT + room)?;
            entries += 1;
            map.next_value_seed(self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The smallest limit that a text is within.
    fn weight(text: &str) -> u64 {
        let (mut low, mut high) = (0, 1 << 40);
        while low < high {
            let middle = (low + high) / 2;
            match fits(text.as_bytes(), middle).unwrap() {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        low
    }

    /// Memory of the lists and maps of a value; of maps at least that of full nodes.
    fn taken(value: &Value) -> usize {
        match value {
            Value::Array(list) => list.capacity() * size_of::<Value>() + list.iter().map(taken).sum::<usize>(),
            Value::Object(map) => {
                let entry = size_of::<String>() + size_of::<Value>();
                map.len().div_ceil(11) * 11 * entry + map.values().map(taken).sum::<usize>()
            }
            _ => 0,
        }
    }

    #[test]
    fn no_value_takes_more_memory_than_its_weight() {
        let list = |element: &str, n: usize| format!("[{}0]", format!("{element},").repeat(n));
        let map = |n: usize| {
            let entries: Vec<String> = (0..n).map(|i| format!("\"{i}\":{{\"\":[]}}")).collect();
            format!("{{{}}}", entries.join(","))
        };
        let mut texts: Vec<String> = ["0", "[]", "{}", "\"\"", "null", "-1.5e3", "[[[[]]]]"].map(str::to_owned).into();
        texts.extend([0, 1, 3, 4, 5, 64, 65, 1_000].map(|n| list(r#"{"":0}"#, n)));
        texts.extend([0, 4, 8, 16, 1_024].map(|n| list("[0]", n)));
        texts.extend([1, 11, 12, 13, 500].map(map));
        for text in texts {
            let value: Value = serde_json::from_str(&text).unwrap();
            let (weight, taken) = (weight(&text), taken(&value) as u64);
            assert!(taken <= weight && weight <= 16 * taken + 64, "{weight} {taken}: {text:.60}");
        }
    }

    #[test]
    fn a_text_is_weighed_only_up_to_the_limit() {
        // It has no end, and is wrong after the limit only.
        assert!(!fits("[[0],[0],[0], ?".as_bytes(), 2 * ELEMENT).unwrap());
        assert!(fits("[[0],[0],[0], ?".as_bytes(), 100 * ELEMENT).is_err());
        assert!(fits("[".repeat(1_000_000).as_bytes(), u64::MAX).unwrap_err().to_string().contains("recursion"));
    }
}
