//! Child processes for tests and benchmarks: started in a scratch folder, observed through files, killed on drop.

mod child;
mod forebay;

pub use child::{Child, Launch};
pub use forebay::{Forebay, ForebayLaunch};
