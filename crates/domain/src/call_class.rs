//! Classes of calls: which of those that wait is served first, and at which price.

use crate::named_enum;

named_enum! {
    /// The class of a call. In this order waiting calls are served.
    #[derive(Default, PartialOrd, Ord)]
    pub enum CallClass {
        /// The client waits for the response.
        #[default]
        Interactive = "interactive",
        /// `service_tier: "flex"`: it takes what interactive calls leave, at the price of batches.
        Flex = "flex",
        /// A line of a batch.
        Batch = "batch",
    }
}

impl CallClass {
    /// Whether the call takes only room that interactive calls leave, and costs less for that.
    pub const fn yields(self) -> bool {
        match self {
            Self::Interactive => false,
            Self::Flex | Self::Batch => true,
        }
    }
}
