//! The published JSON schemas, and a small checker of the part of JSON Schema that they use.

use serde_json::Value;

/// The schema of reports.
pub(crate) const REPORT: &str = include_str!("../../assets/schema/report-1.schema.json");
/// The schema of a bundle's manifest.
pub(crate) const BUNDLE: &str = include_str!("../../assets/schema/bundle-1.schema.json");

/// Every way in which a value breaks a schema.
pub(crate) fn problems(schema: &str, value: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut problems = Vec::new();
    check(&schema, &schema, value, "$", &mut problems);
    problems
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("{target} is defined"));
        return check(root, target, value, at, problems);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &&Value| {
            let mut wrong = Vec::new();
            check(root, choice, value, at, &mut wrong);
            wrong.is_empty()
        };
        if !choices.iter().any(|choice| fits(&choice)) {
            problems.push(format!("{at}: fits none of its forms"));
        }
        return;
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        problems.push(format!("{at}: is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        problems.push(format!("{at}: {value} is not one of {}", schema["enum"]));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("the checker does not know type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        problems.push(format!("{at}: expected {kinds:?}, found {value}"));
    }
    let number = value.as_f64();
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), number)
        && number < least
    {
        problems.push(format!("{at}: {number} is below {least}"));
    }
    if let (Some(most), Some(number)) = (schema["maximum"].as_f64(), number)
        && number > most
    {
        problems.push(format!("{at}: {number} is above {most}"));
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                problems.push(format!("{at}: lacks {key}"));
            }
        }
        for (key, inner) in object {
            match schema["properties"].get(key) {
                Some(schema) => check(root, schema, inner, &format!("{at}.{key}"), problems),
                None if schema["additionalProperties"] == false => problems.push(format!("{at}: does not know {key}")),
                None => {}
            }
        }
    }
    if let Some(list) = value.as_array() {
        let count = |key: &str| schema[key].as_u64().map(|n| n as usize);
        if count("minItems").is_some_and(|n| list.len() < n) || count("maxItems").is_some_and(|n| list.len() > n) {
            problems.push(format!("{at}: has {} items", list.len()));
        }
        let first = schema["prefixItems"].as_array().cloned().unwrap_or_default();
        if !first.is_empty() && list.len() != first.len() {
            problems.push(format!("{at}: expected {} items, found {}", first.len(), list.len()));
        }
        for (i, inner) in list.iter().enumerate() {
            let schema = first.get(i).unwrap_or(&schema["items"]);
            check(root, schema, inner, &format!("{at}[{i}]"), problems);
        }
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let good = serde_json::json!({ "name": "x", "value": "y" });
    let schema = r##"{ "$ref": "#/$defs/fact", "$defs": { "fact": { "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string" }, "value": { "type": ["string", "null"] } },
        "additionalProperties": false } } }"##;
    assert_eq!(problems(schema, &good), Vec::<String>::new(), "fits");
    for wrong in [
        serde_json::json!({ "value": "y" }),
        serde_json::json!({ "name": 1 }),
        serde_json::json!({ "name": "x", "more": 1 }),
        serde_json::json!([]),
    ] {
        assert_ne!(problems(schema, &wrong), Vec::<String>::new(), "{wrong}");
    }
}
