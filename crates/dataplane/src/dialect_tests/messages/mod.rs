mod request_tests;
#[cfg(test)]
mod stream_grammar;
mod stream_property_tests;
mod stream_tests;
