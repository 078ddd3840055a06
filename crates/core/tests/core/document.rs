//! The JSON forms of what documents hold.

use tarebench_core::documents::head::{DocumentKind, Id};
use tarebench_core::kbest::scheme::Parameters;

#[test]
fn kinds_and_numbers_are_texts() {
    for kind in DocumentKind::ALL {
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("{:?}", kind.name()));
    }
    let id = Id { kind: DocumentKind::Bench, number: 7 };
    assert_eq!(serde_json::to_string(&id).unwrap(), r#""b7""#);
    assert_eq!(serde_json::from_str::<Id>(r#""b7""#).unwrap(), id);
    let e = serde_json::from_str::<Id>(r#""x7""#).unwrap_err();
    assert!(e.to_string().contains("not the number of a stored result, expected a letter and digits"), "{e}");
}

#[test]
fn parameters_of_k_best_are_checked_when_read() {
    let read = |text: &str| serde_json::from_str::<Parameters>(text);
    let d = Parameters::default();
    assert_eq!(read(&serde_json::to_string(&d).unwrap()).unwrap(), d);
    for (text, said) in [
        (r#"{"k":0,"epsilon":0.1,"most":1,"least":0}"#, "K is 0"),
        (r#"{"k":3,"epsilon":-0.1,"most":5,"least":0}"#, "epsilon is -0.1"),
        (r#"{"k":3,"epsilon":0.1,"most":2,"least":0}"#, "at most 2 trials, expected at least 3"),
    ] {
        let e = read(text).unwrap_err();
        assert!(e.to_string().contains(said), "{e}");
    }
}
