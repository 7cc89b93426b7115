//! Reports: every format of one hand-made divergence, read back by other means than those that wrote it.

use crate::schema;
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
    report.pictures = picture::of(&subject, &reference, picture::Marks::default());
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
fn json_satisfies_the_published_schema_and_reads_back() {
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
    assert_eq!(schema::problems(schema::REPORT, &json), Vec::<String>::new(), "{json:#}");
    let back: Report = serde_json::from_value(json).unwrap();
    assert_eq!(export(&back, Format::Json), text(Format::Json).into_bytes(), "the same report");
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
    assert_eq!((&results[0]["level"], &results[1]["level"]), (&"error".into(), &"note".into()), "the second inherits");
}

#[test]
fn sarif_has_what_the_standard_requires_and_points_at_real_lines() {
    let log: serde_json::Value = serde_json::from_str(&text(Format::Sarif)).unwrap();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len(), "ids of rules are unique");
    assert_eq!(run["tool"]["driver"]["name"], "blockscope", "{run}");
    let report = text(Format::Json);
    for result in run["results"].as_array().unwrap() {
        assert!(result["message"]["text"].is_string(), "{result}");
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"], "{result}");
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()), "{result}");
        let location = &result["locations"][0];
        let place = &location["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "report.json", "{result}");
        let line = place["region"]["startLine"].as_u64().unwrap() as usize;
        let name = location["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
        assert!(report.lines().nth(line - 1).unwrap().contains(name), "line {line} names {name}");
    }
}

#[test]
fn the_page_fetches_nothing_and_escapes_what_it_is_told() {
    let page = text(Format::Html);
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"), "self-contained");
    assert!(page.contains("&lt;differs&gt; &amp; is explained"), "escaped");
    assert_eq!(page.matches("data:image/png;base64,iVBOR").count(), 4, "four pictures");
}

#[test]
fn csv_has_a_line_per_tensor_and_mode_with_as_many_fields_as_the_head() {
    let csv = text(Format::Csv);
    let fields: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!((fields.len(), fields.iter().all(|&count| count == fields[0])), (7, true), "{csv}");
}

#[test]
fn the_page_shows_the_best_eight_causes_and_folds_the_rest_away() {
    let mut report = report();
    report.causes = (0..11).map(|i| Cause { id: format!("cause-{i}"), ..report.causes[0].clone() }).collect();
    let page = String::from_utf8(export(&report, Format::Html)).unwrap();
    let (shown, folded) = page.split_once("<details><summary>3 more that explain less</summary>").expect("folded");
    assert!(shown.contains("cause-7<") && !shown.contains("cause-8<") && folded.contains("cause-10<"), "eight");
}

/// The formats of a real divergence, found by the command line.
#[test]
fn a_real_divergence_is_reported_with_everything_a_reader_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let report = |name: &str| {
        let arguments = ["report", "--subject", "cpu+mask-outside@2", "--reference", "cpu", "--until", "block-2"];
        let rest = ["--pin", "block-2/attended@3,2,1", "--noise-floor", "--out", &out(name)];
        let all = [&arguments[..], &rest].concat();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_blockscope")).args(all).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    };
    report("first");
    report("second");
    let read = |name: &str, file: &str| std::fs::read_to_string(folder.path().join(name).join(file)).unwrap();
    let timeless = |text: String| text.lines().filter(|line| !line.contains("1970")).collect::<Vec<_>>().join("\n");
    for format in Format::ALL {
        let file = format.file_name();
        assert_eq!(timeless(read("first", file)), timeless(read("second", file)), "{file} but for the time");
    }
    let json: serde_json::Value = serde_json::from_str(&read("first", "report.json")).unwrap();
    assert_eq!(schema::problems(schema::REPORT, &json), Vec::<String>::new(), "the schema");
    assert_eq!(json["first_kernel"], "block-2/attended", "{json:#}");
    assert_eq!((&json["causes"][0]["id"], &json["causes"][0]["exact"]), (&"mask-outside".into(), &true.into()));
    let floor = json["noise_floor"]["boundaries"].as_array().unwrap();
    let effect = json["effect"]["boundaries"].as_array().unwrap();
    assert_eq!((floor.len(), effect.len()), (4, 4), "as far as the comparison: {floor:?}");
    assert!(floor[0]["differing"].as_u64() > Some(0), "a reordered sum shows in block 0: {floor:?}");
    assert_eq!((&effect[0]["differing"], &effect[0]["psnr"]), (&0.into(), &serde_json::Value::Null), "{effect:?}");
    assert_eq!(json["pins"][0]["probe"]["token"], 2 * 168 + 3, "{}", json["pins"]);
    let attention = &json["attention"];
    assert_ne!(attention["subject"]["weights"], attention["reference"]["weights"], "{attention}");
    assert_eq!(attention["subject"]["scores"], attention["reference"]["scores"], "only the softmax is masked");
    let elsewhere = json["elsewhere"].as_array().unwrap();
    assert!(elsewhere.iter().any(|s| s.as_str().unwrap().contains("bit-exact")), "{elsewhere:?}");
    assert!(json["command"].as_str().unwrap().contains("--pin block-2/attended@3,2,1"), "{}", json["command"]);
    let page = read("first", "report.html");
    for section in [
        "Known causes tested",
        "Attention of a differing window",
        "Where the differences are",
        "What it comes to in the end",
        "Reproduce",
    ] {
        assert!(page.contains(section), "{section}");
    }
}

#[test]
fn a_capture_says_which_engine_made_it_and_a_report_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_blockscope")).args(arguments).output().unwrap()
    };
    let capture = at("capture");
    let saved = run(&["run", "--engine", "cpu+mask-outside@2", "--until", "block-2", "--save-capture", &capture]);
    assert_eq!(saved.status.code(), Some(0), "{}", String::from_utf8_lossy(&saved.stderr));
    let facts = blockscope::capture::Recording::open(folder.path().join("capture").as_path()).unwrap().facts();
    let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    assert_eq!(fact("engine"), Some("cpu+mask-outside@2"), "{facts:?}");
    assert_eq!(fact("exact"), Some("false"), "{facts:?}");

    let bundle = at("bundle");
    let rest =
        ["--until", "block-2", "--format", "json,html", "--no-causes", "--out", &at("report"), "--bundle", &bundle];
    let made = run(&[&["report", "--subject", &capture, "--reference", "cpu"][..], &rest].concat());
    assert_eq!(made.status.code(), Some(1), "{}", String::from_utf8_lossy(&made.stderr));
    let text = std::fs::read_to_string(folder.path().join("report/report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let environment = json["environment"].as_array().unwrap();
    let said = environment.iter().find(|fact| fact["name"] == "subject engine").expect("what made the capture");
    assert_eq!(said["value"], "cpu+mask-outside@2", "{said}");
    assert_eq!(json["first_kernel"], "block-2", "only boundaries of a recording are known");
    assert!(json["attention"]["subject"].is_null(), "what a recording computed inside is not known");
    // The bundle of a recording holds every kernel between two boundaries.
    let replayed = run(&["replay", &bundle, "--engine", "cpu+mask-outside@2", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&replayed.stdout).unwrap();
    assert!(json["kernels"].as_array().unwrap().len() > 3, "{json}");
    assert_eq!(json["replays"][0]["expected"]["reproduced"], true, "{json}");
    assert_eq!(json["replays"][1]["got"]["reproduced"], true, "{json}");
}
