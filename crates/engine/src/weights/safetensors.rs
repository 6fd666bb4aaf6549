//! Reads safetensors files: a JSON header, followed by the tensors.

use super::WeightsError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Upper bound for the length of the header.
const MAX_HEADER: u64 = 64 << 20;

/// A file in memory; sentence models are small.
pub(super) struct Safetensors {
    bytes: Vec<u8>,
    data: usize,
    tensors: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (usize, usize),
}

/// One tensor as 32-bit floats, little-endian.
pub(super) struct Tensor {
    /// Outermost dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) floats: Vec<u8>,
}

impl Safetensors {
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let unreadable = |cause| WeightsError::Unreadable { path: path.to_owned(), cause };
        let damaged = |reason: &str| WeightsError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
        let bytes = fs::read(path).map_err(unreadable)?;
        let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
        let length = length.filter(|length| *length <= MAX_HEADER).ok_or_else(|| damaged("its header is invalid"))?;
        let data = 8 + usize::try_from(length).map_err(|_| damaged("its header is invalid"))?;
        let header = bytes.get(8..data).ok_or_else(|| damaged("it ends within its header"))?;
        let mut header: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|_| damaged("its header is not JSON"))?;
        header.remove("__metadata__");
        let tensors = serde_json::from_value(header.into()).map_err(|_| damaged("its header is invalid"))?;
        let file = Self { bytes, data, tensors };
        let end = file.tensors.values().map(|entry| entry.data_offsets.1).max().unwrap_or(0);
        if file.bytes.len() < data + end {
            return Err(damaged("it is shorter than its header says"));
        }
        Ok(file)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Reads a tensor; `Err` is the reason why it is invalid.
    pub(super) fn tensor(&self, name: &str) -> Result<Tensor, String> {
        let entry = self.tensors.get(name).ok_or_else(|| format!("tensor {name} is missing"))?;
        let (from, to) = entry.data_offsets;
        let raw = self.bytes.get(self.data + from..self.data + to).ok_or_else(|| format!("{name} is truncated"))?;
        let halves = || raw.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let floats = match entry.dtype.as_str() {
            "F32" => raw.to_vec(),
            "BF16" => halves().flat_map(|half| (u32::from(half) << 16).to_le_bytes()).collect(),
            "F16" => halves().flat_map(|half| half_to_float(half).to_le_bytes()).collect(),
            other => return Err(format!("{name} has the unsupported type {other}")),
        };
        Ok(Tensor { shape: entry.shape.clone(), floats })
    }
}

fn half_to_float(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((half >> 10) & 0x1f), f32::from(half & 0x3ff));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        0x1f if fraction == 0.0 => sign * f32::INFINITY,
        0x1f => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::half_to_float;

    #[test]
    fn half_floats_are_read_exactly() {
        let cases =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0)];
        for (half, float) in cases {
            assert!((half_to_float(half) - float).abs() <= f32::EPSILON * float.abs(), "{half:#x}");
        }
        assert!(half_to_float(0x7c00).is_infinite() && half_to_float(0x7e00).is_nan());
    }
}
