//! Common parts of device wrappers.

/// Accessors for the inner device, type `N`, in the field `$field`.
macro_rules! ways_inside {
    ([$($params:tt)*] $shape:ty, $field:tt) => {
        impl<$($params)*> $shape {
            /// The inner device.
            pub fn inner(&self) -> &N {
                &self.$field
            }

            /// The inner device.
            pub fn inner_mut(&mut self) -> &mut N {
                &mut self.$field
            }

            /// The inner device, without the wrapper's own knowledge: torn pages, ages, block modes.
            pub fn into_inner(self) -> N {
                self.$field
            }
        }
    };
}

/// Inside an `impl Nand`: forwards methods to the inner device in a field, as in
/// `as_inside!(inner: geometry, ctx)`; `as_inside!(*)` forwards all of them to the wrapper's target.
///
/// A wrapper that acts on copies keeps the default of `copy_run`, which makes single copies.
#[macro_export]
macro_rules! as_inside {
    (*) => {
        $crate::as_inside!(*: geometry, rules, read, read_spare, program, read_tail, read_with_tail, copy, copy_run,
            defers_copies, issue_copies, carry_out_copies, program_run, program_spare, erase, retire, read_untouched, is_known_erased, is_settled, set_slc, is_slc, raw, ctx);
    };
    ($field:tt: $($what:ident),*) => { $($crate::as_inside!(@$what $field);)* };
    (@geometry $field:tt) => { $crate::as_inside!(@fn $field, geometry(&self) -> &$crate::Geometry); };
    (@rules $field:tt) => { $crate::as_inside!(@fn $field, rules(&self) -> &$crate::Rules); };
    (@read $field:tt) => {
        $crate::as_inside!(@try $field, read(self, at: $crate::Ppa, page: &mut Self::Buf) -> $crate::Oob);
    };
    (@read_spare $field:tt) => {
        $crate::as_inside!(@try $field, read_spare(self, at: $crate::Ppa) -> ::core::option::Option<$crate::Oob>);
    };
    (@program $field:tt) => {
        $crate::as_inside!(@try $field, program(self, at: $crate::Ppa, page: &Self::Buf, tail: &[u8], oob: $crate::Oob)
            -> $crate::Done);
    };
    (@read_tail $field:tt) => {
        $crate::as_inside!(@try $field, read_tail(self, at: $crate::Ppa, tail: &mut [u8]) -> $crate::Oob);
    };
    (@read_with_tail $field:tt) => {
        $crate::as_inside!(@try $field, read_with_tail(self, at: $crate::Ppa, page: &mut Self::Buf, tail: &mut [u8])
            -> $crate::Oob);
    };
    (@copy $field:tt) => {
        $crate::as_inside!(@try $field, copy(self, from: $crate::Ppa, to: $crate::Ppa, oob: $crate::Oob) -> $crate::Oob);
    };
    (@copy_run $field:tt) => {
        $crate::as_inside!(@fn $field, copy_run(&mut self, from: &[$crate::Ppa], to: $crate::Ppa, aux: u16, seq: $crate::Seq)
            -> ::core::result::Result<(), (usize, $crate::NandError)>);
    };
    (@defers_copies $field:tt) => { $crate::as_inside!(@fn $field, defers_copies(&self) -> bool); };
    (@issue_copies $field:tt) => {
        $crate::as_inside!(@fn $field, issue_copies(&mut self, from: &[$crate::Ppa], to: $crate::Ppa) -> ());
    };
    (@carry_out_copies $field:tt) => {
        $crate::as_inside!(@fn $field, carry_out_copies(&mut self, from: &[$crate::Ppa], to: $crate::Ppa,
            held: &mut [($crate::Lpn, $crate::Kind)]) -> ());
    };
    (@program_run $field:tt) => {
        $crate::as_inside!(@fn $field, program_run(&mut self, pages: &[$crate::Lpn], to: $crate::Ppa, oob: $crate::Oob) -> ());
    };
    (@program_spare $field:tt) => {
        $crate::as_inside!(@try $field, program_spare(self, at: $crate::Ppa, oob: $crate::Oob) -> $crate::Done);
    };
    (@erase $field:tt) => { $crate::as_inside!(@try $field, erase(self, block: $crate::BlockId) -> $crate::Done); };
    (@retire $field:tt) => { $crate::as_inside!(@try $field, retire(self, block: $crate::BlockId) -> $crate::Done); };
    (@read_untouched $field:tt) => { $crate::as_inside!(@fn $field, read_untouched(&mut self) -> bool); };
    (@is_known_erased $field:tt) => { $crate::as_inside!(@fn $field, is_known_erased(&self) -> bool); };
    (@is_settled $field:tt) => { $crate::as_inside!(@fn $field, is_settled(&mut self, at: $crate::Ppa) -> bool); };
    (@set_slc $field:tt) => {
        $crate::as_inside!(@fn $field, set_slc(&mut self, block: $crate::BlockId, slc: bool) -> ());
    };
    (@is_slc $field:tt) => { $crate::as_inside!(@fn $field, is_slc(&self, block: $crate::BlockId) -> bool); };
    (@raw $field:tt) => { $crate::as_inside!(@fn $field, raw(&mut self, at: $crate::Ppa, command: $crate::Raw) -> ()); };
    (@ctx $field:tt) => { $crate::as_inside!(@fn $field, ctx(&mut self) -> &mut $crate::Ctx); };
    (@try $field:tt, $name:ident($this:ident $($args:tt)*) -> $out:ty) => {
        $crate::as_inside!(@fn $field, $name(&mut $this $($args)*) -> ::core::result::Result<$out, $crate::NandError>);
    };
    (@fn $field:tt, $name:ident(&mut $this:ident $(, $arg:ident: $type:ty)*) -> $out:ty) => {
        fn $name(&mut $this, $($arg: $type),*) -> $out { $crate::as_inside!(@in $field, $this).$name($($arg),*) }
    };
    (@fn $field:tt, $name:ident(&$this:ident $(, $arg:ident: $type:ty)*) -> $out:ty) => {
        fn $name(&$this, $($arg: $type),*) -> $out { $crate::as_inside!(@in $field, $this).$name($($arg),*) }
    };
    (@in *, $this:ident) => { (**$this) };
    (@in $field:tt, $this:ident) => { $this.$field };
}

pub(crate) use ways_inside;
