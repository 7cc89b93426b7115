//! The catalogue: one file for each cause, listed once.

mod accumulator_width;
mod activation_function;
mod alignment;
mod chaos;
mod element_type;
mod exponential_function;
mod frame_inputs;
mod layout;
mod multiply_add;
mod norm_order;
mod observer;
mod one_shape;
mod order_of_products;
mod pool_and_upsample;
mod prior_order;
mod publication_points;
mod publication_rounding;
mod rounding_folded;
mod scales;
mod softmax_order;
mod special_values;
mod stale_file;
mod subnormals_flushed;
mod unstable;
mod unwritten_output;
mod weight_order;
mod window_geometry;
mod wrong_source;

use super::Cause;

/// Every cause, in the order in which they are shown.
pub(super) const ALL: &[Cause] = &[
    rounding_folded::CAUSE,
    subnormals_flushed::CAUSE,
    publication_rounding::CAUSE,
    special_values::CAUSE,
    accumulator_width::CAUSE,
    alignment::CAUSE,
    order_of_products::CAUSE,
    softmax_order::CAUSE,
    norm_order::CAUSE,
    multiply_add::CAUSE,
    exponential_function::CAUSE,
    activation_function::CAUSE,
    publication_points::CAUSE,
    layout::CAUSE,
    element_type::CAUSE,
    window_geometry::CAUSE,
    wrong_source::CAUSE,
    unwritten_output::CAUSE,
    frame_inputs::CAUSE,
    prior_order::CAUSE,
    scales::CAUSE,
    weight_order::CAUSE,
    pool_and_upsample::CAUSE,
    unstable::CAUSE,
    observer::CAUSE,
    stale_file::CAUSE,
    chaos::CAUSE,
    one_shape::CAUSE,
];

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_is_what_lies_on_disk() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnosis/causes");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let stems: BTreeSet<String> =
            files.map(|p| p.file_stem().unwrap().to_string_lossy().replace('_', "-")).filter(|s| s != "mod").collect();
        let listed: BTreeSet<String> = ALL.iter().map(|cause| cause.page.to_owned()).collect();
        assert_eq!(stems, listed, "files and list");
    }

    #[test]
    fn ids_are_unique_and_plenty() {
        let ids: Vec<&str> = ALL.iter().flat_map(|c| c.variants).map(|v| v.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "unique");
        assert!(ids.len() >= 45, "{} variants", ids.len());
    }

    #[test]
    fn every_case_of_the_field_is_covered() {
        let cases: BTreeSet<&str> = ALL.iter().map(|c| c.case).collect();
        for case in 1..=22 {
            assert!(cases.contains(format!("P{case}").as_str()), "P{case}");
        }
    }
}
