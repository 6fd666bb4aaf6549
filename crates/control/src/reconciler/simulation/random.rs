//! Numbers that repeat for a seed (splitmix64).

pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).expect("it is below a number of 32 bits")
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(u32::try_from(options.len()).expect("a short list")) as usize]
    }
}
