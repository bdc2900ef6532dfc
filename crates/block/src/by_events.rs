//! Request batches on a device that follows events.

use crate::clock::HostClock;
use crate::request::Request;
use crate::{BlockDevice, Completion, Error};

/// Carries out `requests` on a device that follows events. `done` gets estimates: [`HostClock::take_ended`] has the
/// ends.
///
/// # Errors
/// As [`BlockDevice::submit_batch`].
///
/// # Panics
/// If the clock or the device does not follow events.
pub fn submit<D: BlockDevice + ?Sized>(
    device: &mut D,
    requests: &[Request],
    clock: &mut HostClock,
    done: &mut Vec<Completion>,
    mut submit_one: impl FnMut(&mut D, &Request) -> Result<Completion, Error>,
) -> Result<(), Error> {
    for (index, request) in requests.iter().enumerate() {
        device.prefetch(&requests[index..]);
        let late = clock.late.as_mut().expect("the clock follows events");
        let timeline = device.timeline().expect("the device follows events");
        let arrival = late.arrival(request, timeline);
        let at = late.begin(request, arrival, timeline);
        let begun = clock.look_up_below(at, || device.look_ups(request));
        let late = clock.late.as_mut().expect("the clock follows events");
        let number = late.issue(request, arrival, begun);
        let timeline = device.timeline().expect("the device follows events");
        timeline.open(number);
        if clock.late.as_ref().is_some_and(|late| late.path().answers_early(request)) {
            timeline.answer_early();
        }
        let below = clock.below(request, begun);
        let estimate = submit_one(device, &below);
        let timeline = device.timeline().expect("the device follows events");
        if let Ok(estimate) = &estimate {
            timeline.answer_behind(begun, estimate.done);
        }
        if let Some(late) = &mut clock.late {
            late.issued(number, timeline);
        }
        timeline.close(begun);
        let completion = Completion { arrival, done: estimate?.done };
        done.push(completion);
    }
    Ok(())
}
