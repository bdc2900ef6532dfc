//! Requests on a device without times: whole pages of many requests are written together, where the FTL takes them so.

use super::{failed, Disk};
use crate::Ftl;
use nandlab_block::{BlockDevice, Error, Op, Payload, Request};
use nandlab_nand::{Lpn, Nand, Time};

/// Fewest pages that are written together: among few, none can be prefetched early enough.
const FEWEST: usize = 64;

/// Pages that are enough to be written together.
const MOST_GATHERED: u32 = 1024;

/// Most pages of a request that is gathered: a longer one would take memory, and gains nothing.
const LONGEST: u32 = 1 << 16;

impl<F: Ftl, N: Nand> Disk<F, N> {
    /// Carries out a batch of requests that all come at `at` and take no time. It returns how many went well.
    pub(super) fn submit_untimed(&mut self, requests: &[Request], at: Time) -> (usize, Result<(), Error>) {
        let takes_batches = self.ftl.takes_batches(&self.nand);
        let mut place = 0;
        while place < requests.len() {
            let count = if takes_batches { self.gather(&requests[place..]) } else { 0 };
            if self.gathered.len() >= FEWEST {
                if let Err((written, error)) = self.write_gathered(&requests[place..place + count], at) {
                    return (place + written, Err(error));
                }
                place += count;
                continue;
            }
            for request in place..place + count.max(1) {
                self.prefetch(&requests[request..]);
                if let Err(error) = self.submit_untimed_one(&requests[request], at) {
                    return (request, Err(error));
                }
            }
            place += count.max(1);
        }
        (requests.len(), Ok(()))
    }

    #[inline(always)]
    fn submit_untimed_one(&mut self, request: &Request, at: Time) -> Result<(), Error> {
        self.refuse_outside(request)?;
        self.carry_out(&Request { time: at, ..*request }, Payload::None)
    }

    /// Whether a request writes whole pages, all of them on this disk.
    #[inline(always)]
    fn is_whole_pages(&self, request: &Request) -> bool {
        let is_whole = (request.sector | u64::from(request.sectors)) & ((1 << self.page_shift) - 1) == 0;
        request.op == Op::Write && request.sectors > 0 && is_whole && request.end() <= self.sectors
    }

    /// Gathers the pages of the first requests that write whole pages for the same author and placement. It returns the number
    /// of requests.
    fn gather(&mut self, requests: &[Request]) -> usize {
        let Some(first) = requests.first() else { return 0 };
        let (mut pages, mut longest) = (0, 0);
        let goes_along = |request: &&Request| {
            let is_alike = request.origin == first.origin && request.placement == first.placement;
            let own = request.sectors >> self.page_shift;
            let goes_along = is_alike && self.is_whole_pages(request) && pages < MOST_GATHERED && own <= LONGEST;
            longest = longest.max(own);
            pages += own.min(LONGEST);
            goes_along
        };
        let count = requests.iter().take_while(goes_along).count();
        let first_page = |request: &Request| (request.sector >> self.page_shift) as u32;
        self.gathered.clear();
        if longest <= 1 {
            self.gathered.extend(requests[..count].iter().map(|request| Lpn(first_page(request))));
        } else {
            let pages =
                |request: &Request| first_page(request)..first_page(request) + (request.sectors >> self.page_shift);
            self.gathered.extend(requests[..count].iter().flat_map(pages).map(Lpn));
        }
        count
    }

    /// Writes the pages gathered from these requests; with an error, the number of requests written before.
    fn write_gathered(&mut self, requests: &[Request], at: Time) -> Result<(), (usize, Error)> {
        self.nand.ctx().begin(requests[0].origin, at);
        self.nand.ctx().place(requests[0].placement);
        let written = self.ftl.write_batch(&mut self.nand, &self.gathered);
        written.map_err(|(pages, error)| {
            let pages_before = requests.iter().scan(0, |before, request| {
                *before += (request.sectors >> self.page_shift) as usize;
                Some(*before)
            });
            let done = pages_before.take_while(|&before| before <= pages).count();
            (done, failed(&error, requests[done].sector))
        })
    }
}
