//! Reports on costs: the dimensions by which they are grouped, and forecasts.

pub mod forecast;
pub mod gpu_costs;
pub mod grouping;

/// Parses a comma-separated list of dimensions, each at most once. The text of an unknown one is shortened.
fn parse_list<D: Copy + PartialEq, E>(
    text: &str,
    parse: fn(&str) -> Option<D>,
    unknown: fn(String) -> E,
    twice: fn(D) -> E,
) -> Result<Vec<D>, E> {
    let mut dimensions = Vec::new();
    for word in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        let dimension = parse(word).ok_or_else(|| unknown(word.chars().take(64).collect()))?;
        if dimensions.contains(&dimension) {
            return Err(twice(dimension));
        }
        dimensions.push(dimension);
    }
    Ok(dimensions)
}
