//! Prints the results as a table.

/// Measurements for one number of streams, one value per round.
pub(crate) struct Row {
    pub streams: usize,
    pub prefill: Vec<f64>,
    pub decode: Vec<f64>,
    /// Decode speed while the cache still holds the prefill prompts.
    pub decode_with_full_cache: Vec<f64>,
    /// CPU time of the HTTP threads during decode, in percent of the compute threads.
    pub added_by_http: Vec<f64>,
}

impl Row {
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            streams,
            prefill: Vec::new(),
            decode: Vec::new(),
            decode_with_full_cache: Vec::new(),
            added_by_http: Vec::new(),
        }
    }
}

pub(crate) fn print(rows: &[Row], bare: &[f64], threads: usize) {
    println!("forebay-engine, {threads} threads, tokens per second over all streams, medians of {} rounds", bare.len());
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>18} {:>10}",
        "streams", "prefill", "decode", "× one stream", "with full cache", "HTTP adds"
    );
    let one = rows.first().map_or(f64::NAN, |row| median(&row.decode));
    for row in rows {
        let decode = median(&row.decode);
        let [prefill, full_cache, http] =
            [&row.prefill, &row.decode_with_full_cache, &row.added_by_http].map(|values| median(values));
        let times = decode / one;
        println!("{:>8} {prefill:>10.0} {decode:>10.1} {times:>12.2} {full_cache:>18.1} {http:>8.2} %", row.streams);
    }
    println!("a bare llama.cpp loop, without HTTP or scheduling, decodes {:.1}", median(bare));
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
