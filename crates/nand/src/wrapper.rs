//! What every wrapper of a device does alike.

/// The ways to the device inside, of the type `N`, which is the field `$field`.
macro_rules! ways_inside {
    ([$($params:tt)*] $shape:ty, $field:tt) => {
        impl<$($params)*> $shape {
            /// The device inside.
            pub fn inner(&self) -> &N {
                &self.$field
            }

            /// The device inside.
            pub fn inner_mut(&mut self) -> &mut N {
                &mut self.$field
            }

            /// The device inside, without what is around it and what that alone knows: torn pages, ages, modes of blocks.
            pub fn into_inner(self) -> N {
                self.$field
            }
        }
    };
}

/// In an `impl Nand`: what the device in `$field` answers for the wrapper.
macro_rules! as_inside {
    ($field:tt: $($what:ident),*) => { $(crate::wrapper::as_inside!(@$what $field);)* };
    (@geometry $field:tt) => {
        fn geometry(&self) -> &crate::address::Geometry {
            self.$field.geometry()
        }
    };
    (@rules $field:tt) => {
        fn rules(&self) -> &crate::rules::Rules {
            self.$field.rules()
        }
    };
    (@set_slc $field:tt) => {
        fn set_slc(&mut self, block: crate::address::BlockId, slc: bool) {
            self.$field.set_slc(block, slc);
        }
    };
    (@is_slc $field:tt) => {
        fn is_slc(&self, block: crate::address::BlockId) -> bool {
            self.$field.is_slc(block)
        }
    };
    (@ctx $field:tt) => {
        fn ctx(&mut self) -> &mut crate::context::Ctx {
            self.$field.ctx()
        }
    };
}

pub(crate) use {as_inside, ways_inside};
