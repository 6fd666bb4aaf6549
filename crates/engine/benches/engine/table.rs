//! The figures as people read them.

/// What was measured for one number of streams, a value per round.
pub(crate) struct Row {
    pub streams: usize,
    pub prefill: Vec<f64>,
    pub decode: Vec<f64>,
    /// The same while the cache still holds the prompts of the prefill.
    pub decode_beside: Vec<f64>,
    /// Processor time of the HTTP threads while answers are written, in percent of the computing ones'.
    pub added_by_http: Vec<f64>,
}

impl Row {
    pub(crate) fn new(streams: usize) -> Self {
        Self { streams, prefill: Vec::new(), decode: Vec::new(), decode_beside: Vec::new(), added_by_http: Vec::new() }
    }
}

pub(crate) fn print(rows: &[Row], bare: &[f64], threads: usize) {
    println!("forebay-engine, {threads} threads, tokens per second over all streams, medians of {} rounds", bare.len());
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>18} {:>10}",
        "streams", "prefill", "decode", "× one stream", "beside old prompts", "HTTP adds"
    );
    let one = rows.first().map_or(f64::NAN, |row| median(&row.decode));
    for row in rows {
        let decode = median(&row.decode);
        let [prefill, beside, http] =
            [&row.prefill, &row.decode_beside, &row.added_by_http].map(|values| median(values));
        let times = decode / one;
        println!("{:>8} {prefill:>10.0} {decode:>10.1} {times:>12.2} {beside:>18.1} {http:>8.2} %", row.streams);
    }
    println!("a bare loop over llama.cpp, without HTTP or scheduling, decodes {:.1}", median(bare));
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
