//! The figures as people read them.

/// What was measured for one number of streams, a value per round.
pub(crate) struct Row {
    pub streams: usize,
    pub prefill: Vec<f64>,
    pub decode: Vec<f64>,
}

impl Row {
    pub(crate) fn new(streams: usize) -> Self {
        Self { streams, prefill: Vec::new(), decode: Vec::new() }
    }
}

pub(crate) fn print(rows: &[Row], bare: &[f64], threads: usize) {
    println!("forebay-engine, {threads} threads, tokens per second over all streams, medians of {} rounds", bare.len());
    println!("{:>8} {:>10} {:>10} {:>12}", "streams", "prefill", "decode", "× one stream");
    let one = rows.first().map_or(f64::NAN, |row| median(&row.decode));
    for row in rows {
        let decode = median(&row.decode);
        println!("{:>8} {:>10.0} {:>10.1} {:>12.2}", row.streams, median(&row.prefill), decode, decode / one);
    }
    let bare = median(bare);
    println!(
        "a bare loop over llama.cpp decodes {bare:.1}: HTTP and scheduling add {:.1} % to a step",
        (bare / one - 1.0) * 100.0
    );
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
