//! How many random programs a test takes: `DPOR_PROGRAMS`, or as many as a run of all tests has time for.

/// The number of programs of a test, `usual` unless the environment says otherwise.
pub fn programs(usual: u64) -> u64 {
    std::env::var("DPOR_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
