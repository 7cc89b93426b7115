//! A progress bar with block, time and rate on a terminal; nothing in a pipe, where result lines tell the same.

use super::output;
use crate::engine::Control;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Watches a [`Control`] until it is dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts watching a job of so many products.
    pub(super) fn start(control: &Control, products: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(products), ProgressDrawTarget::stderr());
        let template = "{wide_bar} {percent:>3} %  {msg}  {elapsed} of about {duration}";
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        let stop = Arc::new(AtomicBool::new(false));
        let watcher = (!bar.is_hidden()).then(|| watch(&bar, control, &stop)).flatten();
        Self { bar, stop, watcher }
    }

    /// Prints a line of results above the bar.
    pub(super) fn line(&self, text: impl Display) {
        self.bar.suspend(|| output::line(text));
    }

    /// Says what is being computed.
    pub(super) fn at(&self, block: usize) {
        self.bar.set_prefix(format!("block {block}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            drop(watcher.join());
        }
        self.bar.finish_and_clear();
    }
}

fn watch(bar: &ProgressBar, control: &Control, stop: &Arc<AtomicBool>) -> Option<JoinHandle<()>> {
    let (bar, control, stop, start) = (bar.clone(), control.clone(), Arc::clone(stop), Instant::now());
    let job = move || {
        while !stop.load(Ordering::Relaxed) {
            let done = control.done();
            let rate = done as f64 / start.elapsed().as_secs_f64().max(1e-3) / 1e9;
            bar.set_position(done);
            bar.set_message(format!("{}  {rate:.2} G products/s", bar.prefix()));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    std::thread::Builder::new().name("progress".to_owned()).spawn(job).ok()
}
