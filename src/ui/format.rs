//! Numbers as people read them.

use std::time::Duration;

/// A value in few characters: plain where that is short, scientific where it is not.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    let plain = match magnitude {
        m if !(0.001..100_000.0).contains(&m) => return format!("{value:.1e}"),
        m if m >= 100.0 => format!("{value:.0}"),
        m if m >= 10.0 => format!("{value:.1}"),
        m if m >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    if plain.contains('.') { plain.trim_end_matches('0').trim_end_matches('.').to_owned() } else { plain }
}

/// A count with thin groups: `57 704 448`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(digit);
    }
    out
}

/// A count in few characters: `1.2k`, `3.4M`.
pub fn compact(value: u64) -> String {
    let v = value as f64;
    match value {
        0..=999 => value.to_string(),
        1_000..=999_949 => format!("{:.1}k", v / 1e3),
        1_000_000..=999_949_999 => format!("{:.1}M", v / 1e6),
        _ => format!("{:.1}G", v / 1e9),
    }
}

/// Bytes in the largest unit that leaves three digits or fewer before the point.
pub fn bytes(value: u64) -> String {
    let v = value as f64;
    match value {
        0..1_024 => format!("{value} B"),
        1_024..1_048_576 => format!("{:.0} KiB", v / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.0} MiB", v / 1_048_576.0),
        _ => format!("{:.1} GiB", v / 1_073_741_824.0),
    }
}

/// A share as a percentage that never rounds a difference away to zero, nor a remainder to all.
pub fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        0.0 => "0".to_owned(),
        p if p < 0.01 => format!("{p:.0e} %"),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 99.95 => format!("{p:.1} %"),
        p if p < 100.0 => ">99.9 %".to_owned(),
        _ => "100 %".to_owned(),
    }
}

/// A time in few characters.
pub fn time(value: Duration) -> String {
    let micros = value.as_secs_f64() * 1e6;
    match micros {
        m if m < 1.0 => "0".to_owned(),
        m if m < 1_000.0 => format!("{m:.0} \u{b5}s"),
        m if m < 100_000.0 => format!("{:.1} ms", m / 1e3),
        m if m < 1e6 => format!("{:.0} ms", m / 1e3),
        m if m < 60e6 => format!("{:.1} s", m / 1e6),
        m => format!("{:.0}:{:02.0} min", (m / 60e6).floor(), (m / 1e6) % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short_and_honest() {
        assert_eq!(
            [0.0, -0.0, 1.5, 448.0, 0.0625, 12.25, 1e-7].map(short),
            ["0", "-0", "1.5", "448", "0.062", "12.2", "1.0e-7"]
        );
        assert_eq!([0, 999, 1_000, 57_704_448].map(count), ["0", "999", "1\u{a0}000", "57\u{a0}704\u{a0}448"]);
        assert_eq!([900, 5 << 20, 3 << 29].map(bytes), ["900 B", "5 MiB", "1.5 GiB"]);
        assert_eq!([999, 1_234, 57_704_448].map(compact), ["999", "1.2k", "57.7M"]);
        assert_eq!(
            [0.0, 1e-9, 0.005, 0.5, 0.9999, 1.0].map(share),
            ["0", "1e-7 %", "0.50 %", "50.0 %", ">99.9 %", "100 %"]
        );
        assert_eq!(time(Duration::from_micros(1_500)), "1.5 ms");
    }
}
