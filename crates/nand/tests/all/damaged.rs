//! A damaged page fails until its block is erased; everything beside it reads as before.

use crate::support::{geometry, oob, page, program, read, rules};
use nandlab_nand::backed::Backed;
use nandlab_nand::damaged::Damaged;
use nandlab_nand::{BlockId, Nand, NandError, Ppa, ProgramOrder};

#[test]
fn a_damaged_page_fails_until_the_erase_of_its_block() {
    let mut inner = Backed::ram(geometry(4, 4), rules(ProgramOrder::AscendingDense));
    (0..2).for_each(|at| program(&mut inner, at).unwrap());
    inner.program(Ppa(2), &page(2), &[7; 4], oob(2, 2)).unwrap();
    inner.program(Ppa(3), &page(3), &[7; 512], oob(3, 3)).unwrap();
    let gone = |at| Err(NandError::Uncorrectable(Ppa(at)));

    let mut nand = Damaged::new(inner.clone(), Ppa(1));
    assert_eq!(read(&mut nand, 1).map(drop), gone(1));
    assert_eq!(nand.copy(Ppa(1), Ppa(4), oob(1, 9)).map(drop), gone(1));
    assert_eq!(nand.read_spare(Ppa(1)), Ok(Some(oob(1, 1))));
    assert!(nand.is_settled(Ppa(1)) && !nand.is_settled(Ppa(0)));
    assert_eq!(read(&mut nand, 0), Ok((oob(0, 0), 0)));
    nand.copy(Ppa(0), Ppa(4), oob(0, 9)).unwrap();
    nand.erase(BlockId(0)).unwrap();
    program(&mut nand, 0).unwrap();
    program(&mut nand, 1).unwrap();
    assert_eq!(read(&mut nand, 1), Ok((oob(1, 1), 1)));
    assert!(!nand.is_settled(Ppa(1)));

    let mut nand = Damaged::without_spare(inner.clone(), Ppa(1));
    assert_eq!(nand.read_spare(Ppa(1)).map(drop), gone(1));
    assert_eq!((nand.read_spare(Ppa(0)), nand.is_settled(Ppa(1))), (Ok(Some(oob(0, 0))), false));

    // A short tail stands beside the spare area, a long one in the page.
    let (mut short, mut long) = (Damaged::new(inner.clone(), Ppa(2)), Damaged::new(inner, Ppa(3)));
    assert_eq!(short.read_tail(Ppa(2), &mut [0; 4]), Ok(oob(2, 2)));
    assert_eq!(short.read_with_tail(Ppa(2), &mut page(0), &mut [0; 4]).map(drop), gone(2));
    assert_eq!(long.read_tail(Ppa(3), &mut [0; 512]).map(drop), gone(3));
}
