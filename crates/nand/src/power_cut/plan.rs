//! Power-cut plans: the operation, and the effect on the flash.

use crate::operation::Operation;
use std::fmt;
use std::str::FromStr;

/// Effect of the cut operation on the flash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Form {
    /// The operation does not happen.
    Clean,
    /// The operation happens, but its answer is lost.
    Done,
    /// A program or copy: the data is unreadable, the spare area readable.
    TornPage,
    /// A program, copy or spare program: data and spare area are unreadable.
    TornSpare,
    /// An erase: all pages of the block are unreadable. The block is weak: it must be erased before its next
    /// program.
    TornEraseUnreadable,
    /// An erase: the first half of the pages reads as erased, the rest as before. The block is weak.
    TornErasePrefix,
    /// An erase: every page reads as erased. The block is weak.
    TornEraseWeak,
    /// The operation does not happen, and the last acknowledged program or copy on each die since the last
    /// fence is lost: its page is as with [`Form::TornSpare`].
    LostTail,
    /// A program or copy: the page reads as erased, but its cells are partly charged, so the page takes no
    /// program before the erase of its block. Nothing on flash tells such a page from an erased one.
    ///
    /// Source: the UBIFS FAQ of Linux MTD, "unstable bits": a program that was cut may leave a page that reads
    /// as all ones and returns wrong data once it is programmed.
    WeakPage,
    /// An erase: the last half of the pages reads as erased, the rest as before. The block is weak.
    ///
    /// Source: Tseng, Grupp, Swanson, "Understanding the impact of power loss on flash memory", DAC 2011: a block
    /// whose erase is cut is left anywhere between its old contents and erased. The form of this state, and of the
    /// next one, is our choice.
    TornEraseSuffix,
    /// An erase: half of the pages, drawn one by one, read as erased, the rest as before. The block is weak.
    TornEraseScattered,
    /// An erase: every page reads as erased after the next power-up. After each later one half of the pages, drawn
    /// anew, read as before the erase. The block is weak.
    ///
    /// Source: the UBIFS FAQ of Linux MTD, "unstable bits": an erase that was cut may leave a block that reads as
    /// erased and later shows other bits.
    UnstableErase,
    /// As [`Form::LostTail`], for the last two programs or copies on each die: a chip with a cache register
    /// programs one page while it takes the data of the next (ONFI 5.1, page cache program).
    LostTailTwo,
    /// The operation does not happen, and on each die whose last operation since the last fence is an erase, that
    /// erase was still under way: its block is as with [`Form::TornEraseUnreadable`].
    LostErase,
    /// A program or copy of an upper page: it is unreadable, and so is the lower page of its pair, though that was acknowledged
    /// and flushed long ago. A device without pairs ([`crate::Rules::pair_distance`]) knows no such form.
    ///
    /// Source: Tseng, Grupp, Swanson, "Understanding the impact of power loss on flash memory", DAC 2011: a cut program of the
    /// second page in a cell corrupts the first one.
    PairedPage,
    /// A program or copy: the spare area is readable, and the data at half of the reads, each drawn anew. At the others it has too
    /// many bit errors. So it stays until the erase of the block. A device without unstable pages
    /// ([`crate::Rules::unstable_pages`]) knows no such form.
    ///
    /// Source: the UBIFS FAQ of Linux MTD, "unstable bits": a page whose program was cut may read well now and fail later, so
    /// what a recovery keeps of it is written again. The readable spare area and the share of the reads are our choice.
    UnstablePage,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 16] = [
        Self::Clean,
        Self::Done,
        Self::TornPage,
        Self::TornSpare,
        Self::TornEraseUnreadable,
        Self::TornErasePrefix,
        Self::TornEraseWeak,
        Self::LostTail,
        Self::WeakPage,
        Self::TornEraseSuffix,
        Self::TornEraseScattered,
        Self::UnstableErase,
        Self::LostTailTwo,
        Self::LostErase,
        Self::PairedPage,
        Self::UnstablePage,
    ];

    /// The forms up to [`Form::WeakPage`]; the others are rarer.
    pub const USUAL: [Self; 9] = {
        let [rest @ .., _, _, _, _, _, _, _] = Self::ALL;
        rest
    };

    /// The forms before [`Form::WeakPage`], for users that still fill a block further after a mount: none of these leaves a
    /// weak page, or a block with a cut erase that looks open.
    pub const WITHOUT_WEAK: [Self; 8] = {
        let [rest @ .., _, _, _, _, _, _, _, _] = Self::ALL;
        rest
    };

    /// Whether [`crate::chip::Chip`] and [`crate::nor::Nor`] leave the form out, so it acts there as [`Form::Clean`].
    pub const fn is_of_stack_alone(self) -> bool {
        use Form::{
            LostErase, LostTailTwo, PairedPage, TornEraseScattered, TornEraseSuffix, UnstableErase, UnstablePage,
        };
        matches!(
            self,
            PairedPage | TornEraseSuffix | TornEraseScattered | UnstableErase | UnstablePage | LostTailTwo | LostErase
        )
    }

    /// The name in the text of a [`CutPlan`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Done => "done",
            Self::TornPage => "torn_page",
            Self::TornSpare => "torn_spare",
            Self::TornEraseUnreadable => "torn_erase.unreadable",
            Self::TornErasePrefix => "torn_erase.prefix",
            Self::TornEraseWeak => "torn_erase.weak",
            Self::LostTail => "lost_tail",
            Self::WeakPage => "weak_page",
            Self::TornEraseSuffix => "torn_erase.suffix",
            Self::TornEraseScattered => "torn_erase.scattered",
            Self::UnstableErase => "unstable_erase",
            Self::LostTailTwo => "lost_tail.two",
            Self::LostErase => "lost_erase",
            Self::PairedPage => "paired_page",
            Self::UnstablePage => "unstable_page",
        }
    }

    /// Whether the form differs from [`Form::Clean`] for this operation; if not, it acts as `Clean`.
    pub const fn applies_to(self, operation: Operation) -> bool {
        use Operation::{Copy, Erase, Program, SpareProgram};
        match self {
            Self::Clean | Self::Done | Self::LostTail | Self::LostTailTwo | Self::LostErase => {
                operation.changes_flash()
            }
            Self::TornPage | Self::WeakPage | Self::PairedPage | Self::UnstablePage => {
                matches!(operation, Program | Copy)
            }
            Self::TornSpare => matches!(operation, Program | Copy | SpareProgram),
            Self::TornEraseUnreadable
            | Self::TornErasePrefix
            | Self::TornEraseWeak
            | Self::TornEraseSuffix
            | Self::TornEraseScattered
            | Self::UnstableErase => matches!(operation, Erase),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A power cut, with a text form for replay: `cut:123:torn_page`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CutPlan {
    /// The cut operation, counted from 1 over the operations that change the flash; 1: the next one.
    pub operation: u64,
    /// Its effect on the flash.
    pub form: Form,
}

impl fmt::Display for CutPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cut:{}:{}", self.operation, self.form)
    }
}

/// A text that does not name a power cut.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{text}\" is no power cut: {why}")]
pub struct CutPlanError {
    /// The given text.
    pub text: String,
    /// The expected form.
    pub why: String,
}

impl FromStr for CutPlan {
    type Err = CutPlanError;

    fn from_str(text: &str) -> Result<Self, CutPlanError> {
        let refuse = |why: String| CutPlanError { text: text.to_owned(), why };
        let mut parts = text.splitn(3, ':');
        let (Some("cut"), Some(operation), Some(form)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse("write cut:OPERATION:FORM, as in cut:123:torn_page".into()));
        };
        let operation = match operation.parse() {
            Ok(number) if number > 0 => number,
            _ => return Err(refuse(format!("operation {operation} is no number from 1 on"))),
        };
        let Some(form) = Form::ALL.into_iter().find(|known| known.name() == form) else {
            let names = Form::ALL.map(Form::name).join(", ");
            return Err(refuse(format!("form {form} is none of {names}")));
        };
        Ok(Self { operation, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_round_trips_through_its_text() {
        for form in Form::ALL {
            for operation in [1, 123, u64::MAX] {
                let plan = CutPlan { operation, form };
                assert_eq!(plan.to_string().parse(), Ok(plan));
            }
        }
        assert_eq!(CutPlan { operation: 123, form: Form::TornPage }.to_string(), "cut:123:torn_page");
    }

    #[test]
    fn wrong_texts_are_refused_with_what_was_expected() {
        for (text, why) in [
            ("", "cut:OPERATION:FORM"),
            ("cut:3", "cut:OPERATION:FORM"),
            ("snip:3:done", "cut:OPERATION:FORM"),
            ("cut:0:done", "operation 0"),
            ("cut:-3:done", "operation -3"),
            ("cut:3:torn_pages", "torn_page, torn_spare"),
        ] {
            let error = text.parse::<CutPlan>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
