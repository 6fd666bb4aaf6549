//! Writes GGUF version 3: metadata, the list of tensors, then their data, each aligned to 32 bytes.

use std::io::{self, Write};

const VERSION: u32 = 3;
const ALIGNMENT: usize = 32;

/// A metadata value.
pub(super) enum Meta {
    Text(String),
    Number(u32),
    Float(f32),
    Flag(bool),
    Texts(Vec<String>),
    Numbers(Vec<i32>),
    Floats(Vec<f32>),
}

/// A file being assembled.
#[derive(Default)]
pub(super) struct GgufFile {
    metadata: Vec<(String, Meta)>,
    tensors: Vec<NamedTensor>,
}

struct NamedTensor {
    name: String,
    /// Innermost dimension first, as in GGUF.
    shape: Vec<u64>,
    floats: Vec<u8>,
}

impl GgufFile {
    pub(super) fn set(&mut self, key: impl Into<String>, value: Meta) {
        self.metadata.push((key.into(), value));
    }

    /// Adds a tensor of 32-bit floats; `shape` has the outermost dimension first.
    pub(super) fn add_tensor(&mut self, name: impl Into<String>, shape: &[u64], floats: Vec<u8>) {
        self.tensors.push(NamedTensor { name: name.into(), shape: shape.iter().rev().copied().collect(), floats });
    }

    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut head = Vec::new();
        head.extend_from_slice(b"GGUF");
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&(self.tensors.len() as u64).to_le_bytes());
        head.extend_from_slice(&(self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            put_text(&mut head, key);
            put_value(&mut head, value);
        }
        let mut offset = 0;
        for tensor in &self.tensors {
            put_text(&mut head, &tensor.name);
            head.extend_from_slice(&(tensor.shape.len() as u32).to_le_bytes());
            tensor.shape.iter().for_each(|size| head.extend_from_slice(&size.to_le_bytes()));
            // Type 0: 32-bit floats.
            head.extend_from_slice(&0u32.to_le_bytes());
            head.extend_from_slice(&(offset as u64).to_le_bytes());
            offset += padded(tensor.floats.len());
        }
        write_padded(output, &head)?;
        self.tensors.iter().try_for_each(|tensor| write_padded(output, &tensor.floats))
    }
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT)
}

fn write_padded(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    output.write_all(bytes)?;
    output.write_all(&[0; ALIGNMENT][..padded(bytes.len()) - bytes.len()])
}

fn put_text(head: &mut Vec<u8>, text: &str) {
    head.extend_from_slice(&(text.len() as u64).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
}

fn put_list_head(head: &mut Vec<u8>, kind: u32, length: usize) {
    head.extend_from_slice(&9u32.to_le_bytes());
    head.extend_from_slice(&kind.to_le_bytes());
    head.extend_from_slice(&(length as u64).to_le_bytes());
}

/// Writes a value, preceded by the number of its type in the GGUF specification.
fn put_value(head: &mut Vec<u8>, value: &Meta) {
    match value {
        Meta::Number(number) => {
            head.extend_from_slice(&4u32.to_le_bytes());
            head.extend_from_slice(&number.to_le_bytes());
        }
        Meta::Float(float) => {
            head.extend_from_slice(&6u32.to_le_bytes());
            head.extend_from_slice(&float.to_le_bytes());
        }
        Meta::Flag(flag) => {
            head.extend_from_slice(&7u32.to_le_bytes());
            head.push(u8::from(*flag));
        }
        Meta::Text(text) => {
            head.extend_from_slice(&8u32.to_le_bytes());
            put_text(head, text);
        }
        Meta::Numbers(numbers) => {
            put_list_head(head, 5, numbers.len());
            numbers.iter().for_each(|number| head.extend_from_slice(&number.to_le_bytes()));
        }
        Meta::Floats(floats) => {
            put_list_head(head, 6, floats.len());
            floats.iter().for_each(|float| head.extend_from_slice(&float.to_le_bytes()));
        }
        Meta::Texts(texts) => {
            put_list_head(head, 8, texts.len());
            texts.iter().for_each(|text| put_text(head, text));
        }
    }
}
