//! Types that are shown as their text: enums whose variants have fixed names, and texts of a checked form.

/// Declares an enum, with `ALL`, `as_str`, `parse` and `Display`, from one table of its variants and their names.
///
/// `parse` returns an `Option`, or a `Result` if the enum is declared with an error: `enum Metric or MetricError`. The
/// error is a tuple struct of the text, which is shortened.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $name:ident $(or $error:ident)? {
            $($(#[$of_variant:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $(#[$attribute])*
        $vis enum $name {
            $($(#[$of_variant])* $variant,)+
        }

        impl $name {
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            $crate::named_enum!(@parse $vis $($error)?);
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@parse $vis:vis) => {
        $vis fn parse(text: &str) -> Option<Self> {
            Self::ALL.into_iter().find(|variant| variant.as_str() == text)
        }
    };
    (@parse $vis:vis $error:ident) => {
        $vis fn parse(text: &str) -> Result<Self, $error> {
            let known = Self::ALL.into_iter().find(|variant| variant.as_str() == text);
            known.ok_or_else(|| $error(text.chars().take(64).collect()))
        }
    };
}

/// Implements `Display` and `Debug` of types with an `as_str`: both show the text alone.
#[macro_export]
macro_rules! shown_as_text {
    ($($name:ident),+) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}
