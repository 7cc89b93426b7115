//! Reports: every format of one hand-made divergence, read back by other means than those that wrote it.

use blockscope::compare::compare;
use blockscope::geometry::Size;
use blockscope::report::{Cause, Fact, Format, Report, Row, export, picture};
use blockscope::tensor::{Bytes, Element, Shape, Tensor};

/// Two tensors that differ in one code out of 64.
fn sides() -> (Tensor, Tensor) {
    let shape = Shape::new(Element::E4m3, Size::new(4, 4), 4);
    let codes: Vec<u8> = (0..64).collect();
    let mut other = codes.clone();
    other[17] = 0x30;
    let tensor = |codes: &[u8]| Tensor::new("block-2/attended".into(), shape, Bytes::copy(codes)).unwrap();
    (tensor(&other), tensor(&codes))
}

fn report() -> Report {
    let (subject, reference) = sides();
    let outcome = || Some((&compare(&subject, &reference)).into());
    let exact = || Some((&compare(&reference, &reference)).into());
    let row = |name: &str, kind| Row::new(name, kind, 2, "window_attention", reference.shape);
    let mut report = Report::new("cpu+mask-outside@2", "cpu");
    "\"block-2/attended\" <differs> & is explained".clone_into(&mut report.conclusion);
    report.first_kernel = Some("block-2/attended".to_owned());
    report.rows = vec![
        Row { accumulated: exact(), isolated: exact(), ..row("block-1", "boundary") },
        Row { accumulated: outcome(), isolated: outcome(), ..row("block-2/attended", "kernel") },
        Row { accumulated: outcome(), isolated: exact(), ..row("block-2", "boundary") },
    ];
    report.causes = vec![Cause {
        id: "mask-outside".to_owned(),
        name: "tokens outside the field are masked".to_owned(),
        site: "block-2/attended".to_owned(),
        explained: 1.0,
        newly_wrong: 0,
        exact: true,
        advice: "keep them".to_owned(),
    }];
    report.environment = vec![Fact::new("model", "synthetic:1")];
    report.pictures = picture::of(&subject, &reference);
    report
}

fn text(format: Format) -> String {
    String::from_utf8(export(&report(), format)).unwrap()
}

#[test]
fn the_same_report_gives_the_same_bytes_in_every_format() {
    for format in Format::ALL {
        assert_eq!(text(format), text(format), "{}", format.name());
        assert!(Format::parse(format.file_name()).is_some(), "{}", format.file_name());
    }
}

#[test]
fn json_carries_both_verdicts_and_the_bits_of_the_first_difference() {
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
    assert_eq!(json["schema"], 1, "schema");
    let row = &json["rows"][1];
    assert_eq!((&row["isolated"]["verdict"], &row["isolated"]["differing"]), (&"differs".into(), &1.into()), "{row}");
    let first = &row["isolated"]["first"];
    assert_eq!((&first["token"], &first["channel"]), (&4.into(), &1.into()), "{first}");
    assert_eq!((&first["subject_bits"], &first["reference_bits"]), (&"0x30".into(), &"0x11".into()), "{first}");
}

#[test]
fn junit_counts_a_failure_for_each_divergent_case() {
    let xml = text(Format::Junit);
    assert_eq!(xml.matches("<testcase ").count(), 6, "three tensors in two modes");
    assert_eq!(xml.matches("<failure ").count(), 3, "{xml}");
    assert!(xml.contains("tests=\"6\" failures=\"3\" skipped=\"0\""), "{xml}");
}

#[test]
fn sarif_names_the_confirmed_cause_as_the_rule_of_the_first_kernel() {
    let log: serde_json::Value = serde_json::from_str(&text(Format::Sarif)).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!((log["version"].as_str(), results.len()), (Some("2.1.0"), 2), "two tensors differ");
    assert_eq!(results[0]["ruleId"], "mask-outside", "{}", results[0]);
    assert_eq!(results[1]["ruleId"], "divergence", "{}", results[1]);
}

#[test]
fn the_page_fetches_nothing_and_escapes_what_it_is_told() {
    let page = text(Format::Html);
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"), "self-contained");
    assert!(page.contains("&lt;differs&gt; &amp; is explained"), "escaped");
    assert_eq!(page.matches("data:image/png;base64,iVBOR").count(), 3, "three pictures");
}

#[test]
fn csv_has_a_line_per_tensor_and_mode_with_as_many_fields_as_the_head() {
    let csv = text(Format::Csv);
    let fields: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!((fields.len(), fields.iter().all(|&count| count == fields[0])), (7, true), "{csv}");
}
