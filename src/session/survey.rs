//! What this machine and the catalogue offer, looked up once on a thread: Vulkan devices, and where each known
//! cause has a place.

use super::sources::{CausePlace, Choice};
use super::work::{fault, lock};
use super::{Place, Session, Severity, Sources};
use crate::diagnosis::{self, Test};
use crate::engine::vulkan;
use crate::engine::vulkan::raw::{Device, DeviceOptions, Instance, VulkanError};
use crate::plan::Plan;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

/// Where the thread leaves what it found.
pub(super) type Found = Arc<Mutex<Option<Survey>>>;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    devices: Vec<Choice>,
    causes: Vec<CausePlace>,
}

impl Session {
    /// Starts to look; the answer comes with a later `poll`.
    pub(super) fn survey(&mut self) {
        let (found, bell, plan) = (Arc::clone(&self.surveyed), Arc::clone(&self.bell), Arc::clone(&self.plan));
        let work = move || {
            // Causes first: drivers take their time.
            let causes = catch_unwind(AssertUnwindSafe(|| causes(&plan))).unwrap_or_default();
            *lock(&found) = Some(Survey { devices: Vec::new(), causes: causes.clone() });
            bell.ring();
            *lock(&found) = Some(Survey { devices: known_devices(), causes });
            bell.ring();
        };
        if let Err(error) = std::thread::Builder::new().name("survey".to_owned()).spawn(work) {
            self.say(Severity::Warning, Place::Window, format!("cannot look for devices: {error}"));
        }
    }

    /// Takes what was found.
    pub(super) fn take_survey(&mut self) {
        let found = lock(&self.surveyed).take();
        if let Some(Survey { devices, causes }) = found {
            (self.devices, self.causes) = (devices, causes);
            self.list_choices();
        }
    }

    /// What the pickers offer: engines, devices, and recordings that were opened before.
    pub(super) fn list_choices(&mut self) {
        let mut choices = vec![
            choice("cpu", "CPU", "SIMD on all cores, exact"),
            choice("reference", "Reference", "scalar and obvious: the definition of right, slow"),
        ];
        choices.extend(self.devices.iter().cloned());
        let current = [&self.sources.subject, &self.sources.reference];
        for recent in &self.recent {
            let spec = recent.path.display().to_string();
            let recorded = recent.command.starts_with("subject ");
            if recorded && !choices.iter().any(|choice| choice.spec == spec) {
                let name = recent.path.file_name().map_or_else(|| spec.clone(), |n| n.to_string_lossy().into_owned());
                let kind = if Sources::watched(&spec).is_some() { "watched folder" } else { "recording" };
                let used = if current.contains(&&spec) { ", in use" } else { "" };
                choices.push(choice(&spec, &name, &format!("{kind}{used}; {spec}")));
            }
        }
        self.choices = choices;
    }
}

fn choice(spec: &str, label: &str, about: &str) -> Choice {
    Choice { spec: spec.to_owned(), label: label.to_owned(), about: about.to_owned(), refused: None }
}

fn refused(spec: &str, label: &str, why: &VulkanError) -> Choice {
    Choice { refused: Some(why.to_string()), ..choice(spec, label, "") }
}

fn failed(text: String) -> Choice {
    Choice { refused: Some(text), ..choice("vulkan", "Vulkan", "") }
}

/// This machine's devices, looked up once for all sessions of the process.
fn known_devices() -> Vec<Choice> {
    static KNOWN: OnceLock<Vec<Choice>> = OnceLock::new();
    let look = || {
        let devices = catch_unwind(devices).unwrap_or_else(|panic| Ok(vec![failed(fault(&*panic))]));
        devices.unwrap_or_else(|error| vec![refused("vulkan", "Vulkan", &error)])
    };
    KNOWN.get_or_init(look).clone()
}

/// Every device, opened once so that what it lacks is known before somebody picks it.
fn devices() -> Result<Vec<Choice>, VulkanError> {
    let instance = Instance::new(&vulkan::instance_options())?;
    let mut found = Vec::new();
    for adapter in instance.adapters()? {
        let info = adapter.info().clone();
        let (spec, label) = (format!("vulkan:{}", info.index), format!("Vulkan: {}", info.name));
        let about = format!("{}, {}, Vulkan {}", info.kind, info.driver, info.api);
        match Device::from_adapter(adapter, &DeviceOptions::default()) {
            Ok(_opens) => found.push(choice(&spec, &label, &about)),
            Err(error) => found.push(refused(&spec, &label, &error)),
        }
        if found.last().is_some_and(|last| last.refused.is_none()) && !info.cooperative.is_empty() {
            let spec = format!("{spec}:coopmat");
            found.push(choice(&spec, &format!("{label}, matrix units"), "not exact: there to be debugged"));
        }
    }
    if found.is_empty() {
        let why = "Vulkan is installed, but it lists no device; check the GPU's driver";
        found.push(failed(why.to_owned()));
    }
    Ok(found)
}

/// Each cause that can be switched on, with the blocks where it has a place.
fn causes(plan: &Plan) -> Vec<CausePlace> {
    let testable = diagnosis::variants().filter(|(_, variant)| matches!(variant.test, Test::Step(_)));
    testable
        .map(|(cause, variant)| {
            let mut changed = plan.clone();
            let steps = (0..plan.steps.len()).filter(|&step| variant.apply(&mut changed, step));
            let blocks: BTreeSet<usize> = steps.map(|step| plan.steps[step].block).collect();
            CausePlace { id: variant.id, name: variant.name, page: cause.name, blocks }
        })
        .filter(|cause| !cause.blocks.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Session, Sources, Waker};
    use std::time::{Duration, Instant};

    #[test]
    fn the_pickers_offer_devices_with_reasons_and_causes_with_their_blocks() {
        let mut session = Session::new(Sources::default(), Waker::default());
        session.survey();
        let begin = Instant::now();
        while session.devices.is_empty() && begin.elapsed() < Duration::from_mins(1) {
            std::thread::sleep(Duration::from_millis(20));
            session.take_survey();
        }
        let specs: Vec<&str> = session.choices().iter().map(|choice| choice.spec.as_str()).collect();
        assert_eq!(specs[..2], ["cpu", "reference"], "engines first");
        let vulkan: Vec<_> = session.choices()[2..].iter().collect();
        assert!(!vulkan.is_empty(), "devices, or the reason for none");
        for device in vulkan {
            assert!(device.spec.starts_with("vulkan"), "{device:?}");
            assert!(device.refused.as_ref().is_none_or(|why| why.len() > 10), "a reason is a sentence: {device:?}");
        }
        let masked = session.causes().iter().find(|cause| cause.id == "mask-outside").expect("a known cause");
        assert!(masked.blocks.contains(&9) && !masked.blocks.contains(&35), "windows only: {:?}", masked.blocks);
    }
}
