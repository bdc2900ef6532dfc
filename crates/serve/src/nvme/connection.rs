//! One connection: its first PDU, its queue's commands, and their answers.

use super::bounds::EVENT_REQUESTS;
use super::command::{Answer, Command, Pointer, Status, COMMAND_BYTES};
use super::events::Events;
use super::fabrics::{self, CONNECT_BYTES};
use super::io as nvm;
use super::outcome::{write_status, Data, Done};
use super::pdu::{agreed, init_answer, kind, termination, Fatal, Format, Head, Pdu, HEAD_BYTES};
use super::replies::{Completion, Replies, AT_ONCE};
use super::subsystem::{Queue, Subsystem};
use super::transfers::Transfers;
use super::{admin, features, logs, opcodes, placement, zones};
use crate::asker::Asker;
use crate::flow::{Held, Incoming, Later, Out, Share, Watched};
use crate::means::Means;
use crate::sockets::Stream;
use crate::Due;
use nandlab_lab::served::QueueId;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// What a waiting answer takes beside its bytes, at most.
const OVERHEAD_BYTES: usize = 128;
/// Answer bytes the operating system is asked to keep until the client reads them.
const SEND_BYTES: usize = 1 << 20;

/// Serves one connection until it ends, in this thread.
///
/// # Errors
/// Socket errors; `TimedOut` if the host was silent for too long.
pub(super) fn serve(
    stream: &Arc<Stream>,
    subsystem: &Subsystem,
    here: SocketAddr,
    share: &Arc<Share>,
    means: &Means,
) -> io::Result<()> {
    stream.limit_reads(means.patience)?;
    stream.limit_writes(means.patience)?;
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&**stream, SEND_BYTES);
    let _ = rustix::net::sockopt::set_tcp_nodelay(&**stream, true);
    let mut incoming = Incoming::new(Watched::new(stream, share));
    let out = Out::new(stream, share);
    let session = Session {
        replies: Replies::default(),
        later: Some(Later::new(&out, share, means)),
        out,
        transfers: Transfers::default(),
        events: Events::default(),
        is_begun: false,
        is_over: false,
        keep_alive: Duration::ZERO,
        queue: None,
        asker: None,
        stream,
        subsystem,
        here,
        share,
        patience: means.patience,
    };
    let mut session = session;
    let served = session.run(&mut incoming);
    if let Some(queue) = &session.queue {
        subsystem.leave(queue);
    }
    if let Some(later) = session.later.take() {
        later.finish();
    }
    if matches!(served, Ok(Some(_))) {
        stream.drain(means.patience);
    }
    served.map(drop)
}

/// A connection's state.
struct Session<'a> {
    replies: Replies,
    later: Option<Later>,
    out: Arc<Out>,
    transfers: Transfers,
    /// Event requests held, and what was told.
    events: Events,
    /// Whether the first PDU has come.
    is_begun: bool,
    /// Whether the host has disconnected this queue, or was refused.
    is_over: bool,
    /// The longest silence on the admin queue; zero is no limit.
    keep_alive: Duration,
    queue: Option<Queue>,
    /// Tells the drive that requests come by this queue.
    asker: Option<Asker>,
    stream: &'a Arc<Stream>,
    subsystem: &'a Subsystem,
    here: SocketAddr,
    share: &'a Arc<Share>,
    patience: Duration,
}

impl Session<'_> {
    /// Takes PDUs until the connection ends; returns why, if the host broke the rules.
    fn run(&mut self, incoming: &mut Incoming<Watched>) -> io::Result<Option<Fatal>> {
        while !self.is_over {
            let at_rest = self.silence();
            if !incoming.has(HEAD_BYTES) {
                let limit = if incoming.peek().is_empty() { at_rest } else { Some(self.patience) };
                incoming.source().limit_silence(limit, self.patience)?;
                if !incoming.wait(HEAD_BYTES)? {
                    break;
                }
            }
            let head = Head::parse(incoming.peek());
            if let Err(fatal) = head.check(self.replies.format) {
                return self.terminate(fatal, incoming.peek());
            }
            if !incoming.has(head.length) {
                incoming.source().limit_silence(Some(self.patience), self.patience)?;
                incoming.wait(head.length)?;
            }
            let bytes = incoming.take(head.length);
            let taken = Pdu::parse(head, bytes, self.replies.format).map(|pdu| self.take(&pdu));
            match taken {
                Ok(Ok(())) => {}
                Ok(Err(End::Fatal(fatal))) | Err(fatal) => return self.terminate(fatal, bytes),
                Ok(Err(End::Io(error))) => return Err(error),
            }
            incoming.shrink();
            if self.is_stuck() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if !has_whole_pdu(incoming) || self.replies.used > AT_ONCE {
                self.send()?;
            }
        }
        self.send()?;
        Ok(None)
    }

    /// The longest silence between two PDUs.
    fn silence(&self) -> Option<Duration> {
        let is_waiting = !self.transfers.is_empty() || self.queue.is_none();
        match is_waiting {
            true => Some(self.patience),
            false => Some(self.keep_alive).filter(|limit| !limit.is_zero()),
        }
    }

    /// Whether a host with memory that others wait for does not send the data it announced.
    fn is_stuck(&self) -> bool {
        self.share.is_short() && self.transfers.is_stuck(self.patience)
    }

    /// Tells the host why the connection ends.
    fn terminate(&mut self, fatal: Fatal, header: &[u8]) -> io::Result<Option<Fatal>> {
        let header = &header[..header.len().min(HEAD_BYTES.max(COMMAND_BYTES + HEAD_BYTES))];
        self.replies.add(&termination(fatal, header));
        self.send()?;
        Ok(Some(fatal))
    }

    /// Sends the collected answers.
    fn send(&mut self) -> io::Result<()> {
        self.replies.hand_over(&*self.subsystem.drive, write_status);
        self.out.send(self.replies.take())?;
        self.replies.shrink();
        Ok(())
    }

    fn take(&mut self, pdu: &Pdu<'_>) -> Result<(), End> {
        match (pdu.kind, self.is_begun) {
            (kind::INIT, false) => {
                let format: Format = agreed(pdu)?;
                self.replies.add(&init_answer(format));
                (self.replies.format, self.is_begun) = (format, true);
                Ok(())
            }
            (kind::COMMAND, true) => self.take_command(pdu),
            (kind::HOST_DATA, true) => self.take_data(pdu),
            (kind::HOST_TERMINATES, _) => {
                self.is_over = true;
                Ok(())
            }
            _ => Err(Fatal::SEQUENCE.into()),
        }
    }

    fn take_command(&mut self, pdu: &Pdu<'_>) -> Result<(), End> {
        let command = Command::parse(&pdu.header[HEAD_BYTES..]);
        if let Some(queue) = &mut self.queue {
            queue.advance();
        }
        if self.transfers.has(command.id()) || self.events.has(command.id()) {
            return Ok(self.answer(&command, &Status::ID_CONFLICT.into())?);
        }
        let data = match self.data(&command) {
            Ok(data) => data,
            Err(status) => return Ok(self.answer(&command, &status.into())?),
        };
        match (data, command.pointer()) {
            (Data::None, _) => Ok(self.carry_out(&command, &[], true)?),
            (Data::ToHost(length), Pointer::ByTransport) => match command.pointer_bytes() >= length as u64 {
                true => Ok(self.carry_out(&command, &[], true)?),
                false => Ok(self.answer(&command, &Status::SGL_LENGTH_INVALID.into())?),
            },
            (Data::FromHost(length), Pointer::InCapsule(offset)) => {
                let end = offset.checked_add(length as u64).filter(|&end| end <= pdu.data.len() as u64);
                match end {
                    _ if command.pointer_bytes() != length as u64 => {
                        Ok(self.answer(&command, &Status::SGL_LENGTH_INVALID.into())?)
                    }
                    None => Ok(self.answer(&command, &Status::SGL_OFFSET_INVALID.into())?),
                    Some(end) => {
                        Ok(self.carry_out(&command, &pdu.data[offset as usize..end as usize], pdu.is_sound)?)
                    }
                }
            }
            (Data::FromHost(length), Pointer::ByTransport) if command.pointer_bytes() == length as u64 => {
                self.ask_for_data(command, length)
            }
            (Data::FromHost(_), Pointer::ByTransport) => Ok(self.answer(&command, &Status::SGL_LENGTH_INVALID.into())?),
            _ => Ok(self.answer(&command, &Status::SGL_TYPE_INVALID.into())?),
        }
    }

    /// The command's data; refusals that need no data.
    fn data(&self, command: &Command) -> Result<Data, Status> {
        let is_fabrics = command.opcode() == fabrics::OPCODE;
        let is_connect = is_fabrics && command.fabrics_type() == fabrics::kind::CONNECT;
        if !command.has_known_flags() {
            return Err(Status::INVALID_FIELD);
        }
        match &self.queue {
            None if is_connect => Ok(Data::FromHost(CONNECT_BYTES)),
            None => Err(Status::SEQUENCE_ERROR),
            Some(_) if is_connect => Err(Status::SEQUENCE_ERROR),
            Some(_) if is_fabrics => Ok(Data::None),
            Some(queue) if queue.id > 0 => nvm::data(self.subsystem, command),
            Some(_) => Ok(match command.opcode() {
                opcodes::admin::GET_FEATURES if features::has_events(self.subsystem, command) => Data::ToHost(0),
                opcodes::admin::SET_FEATURES if features::has_events(self.subsystem, command) => {
                    placement::kinds(command)
                }
                opcodes::admin::IDENTIFY | opcodes::admin::GET_LOG => Data::ToHost(0),
                _ => Data::None,
            }),
        }
    }

    /// Asks the host for a command's data, at once or when there is memory for it.
    fn ask_for_data(&mut self, command: Command, length: usize) -> Result<(), End> {
        let most = self.queue.as_ref().map_or(1, |queue| usize::from(queue.entries));
        if self.transfers.count() >= most {
            return Err(Fatal::LIMIT.into());
        }
        self.transfers.wait(command, length);
        self.begin_transfers()
    }

    /// Begins every transfer that there is memory for, and at least one.
    fn begin_transfers(&mut self) -> Result<(), End> {
        while let Some(length) = self.transfers.next_length() {
            let held = match self.share.try_take(length + OVERHEAD_BYTES) {
                Some(held) => held,
                None if self.transfers.has_none_under_way() => self.memory(length + OVERHEAD_BYTES)?,
                None => break,
            };
            if let Some((id, tag, length)) = self.transfers.begin(held) {
                self.replies.ask_for_data(id, tag, length);
            }
        }
        self.share.is_announced.store(!self.transfers.is_empty(), Ordering::Relaxed);
        Ok(())
    }

    fn take_data(&mut self, pdu: &Pdu<'_>) -> Result<(), End> {
        if let Some(complete) = self.transfers.take(pdu)? {
            self.carry_out(&complete.command, &complete.data, complete.is_sound)?;
            drop(complete);
            self.begin_transfers()?;
        }
        Ok(())
    }

    /// Memory for `bytes`. Collected answers go out before a wait for it.
    fn memory(&mut self, bytes: usize) -> io::Result<Held> {
        if let Some(held) = self.share.try_take(bytes) {
            return Ok(held);
        }
        self.send()?;
        self.share.take(bytes)
    }

    /// Carries out a command whose data is here.
    fn carry_out(&mut self, command: &Command, data: &[u8], is_sound: bool) -> io::Result<()> {
        if !is_sound {
            return self.answer(command, &Status::TRANSIENT_TRANSPORT.into());
        }
        if command.opcode() == fabrics::OPCODE {
            let answer = self.fabrics(command, data);
            return self.answer(command, &answer);
        }
        match &self.queue {
            Some(queue) if queue.id > 0 && command.opcode() == opcodes::nvm::READ => self.read(command),
            Some(queue) if queue.id > 0 && command.opcode() == opcodes::zoned::RECEIVE => self.report_zones(command),
            Some(queue) if queue.id > 0 && command.opcode() == opcodes::placed::RECEIVE => self.tell_handles(command),
            Some(queue) if queue.id > 0 => {
                let is_write_through = queue.controller.is_write_through.load(Ordering::Relaxed);
                let done = nvm::carry_out(self.subsystem, is_write_through, command, data);
                self.finish(command, done, 0)
            }
            Some(_) => self.administer(command, data),
            None => self.answer(command, &Status::SEQUENCE_ERROR.into()),
        }
    }

    fn fabrics(&mut self, command: &Command, data: &[u8]) -> Answer {
        let Some(queue) = &self.queue else {
            return match fabrics::connect(self.subsystem, self.stream, command, data) {
                Ok((queue, keep_alive)) => {
                    self.keep_alive = keep_alive;
                    let id = QueueId { controller: queue.controller.id, queue: queue.id };
                    self.asker = (id.queue > 0).then(|| Asker::begin(id));
                    self.queue = Some(queue);
                    Answer::result(id.controller.into())
                }
                Err(refusal) => {
                    self.is_over = true;
                    refusal
                }
            };
        };
        match command.fabrics_type() {
            fabrics::kind::PROPERTY_GET | fabrics::kind::PROPERTY_SET => {
                fabrics::property(self.subsystem, queue, command)
            }
            fabrics::kind::DISCONNECT if queue.id == 0 => Status::INVALID_QUEUE_TYPE.into(),
            fabrics::kind::DISCONNECT => {
                self.is_over = true;
                Answer::result(0)
            }
            _ => Status::INVALID_OPCODE.into(),
        }
    }

    fn administer(&mut self, command: &Command, data: &[u8]) -> io::Result<()> {
        match command.opcode() {
            opcodes::admin::EVENT_REQUEST if self.events.count() >= EVENT_REQUESTS => {
                self.answer(command, &Status::TOO_MANY_EVENT_REQUESTS.into())
            }
            opcodes::admin::EVENT_REQUEST => {
                self.events.wait(command.id());
                self.tell_event();
                Ok(())
            }
            opcodes::admin::ABORT => self.abort(command),
            _ => {
                let Some(queue) = &self.queue else { return Ok(()) };
                let answer = admin::carry_out(self.subsystem, &queue.controller, self.here, command, data);
                self.keep_alive = queue.controller.state().features.keep_alive();
                if command.opcode() == opcodes::admin::GET_LOG && logs::clears_events(command) {
                    self.events.unmask();
                }
                self.answer(command, &answer)?;
                self.tell_event();
                Ok(())
            }
        }
    }

    /// Only event requests wait long enough to be aborted.
    fn abort(&mut self, command: &Command) -> io::Result<()> {
        let (queue, id) = (command.dword(10) as u16, (command.dword(10) >> 16) as u16);
        let is_found = queue == 0 && self.events.abort(id);
        if is_found {
            let completion = Completion { command: id, status: Status::ABORT_REQUESTED, result: 0 };
            self.replies.answer(&completion, self.queue.as_ref());
        }
        self.answer(command, &Answer::result(u64::from(!is_found)))
    }

    /// Answers an event request if there is a new warning that the host wants.
    fn tell_event(&mut self) {
        let Some(Queue { controller, .. }) = &self.queue else { return };
        let wanted = controller.state().wanted_events();
        if controller.is_discovery || !self.events.may_tell(wanted) {
            return;
        }
        let drive = &self.subsystem.drive;
        let warnings = logs::warnings(&drive.health(), drive.is_read_only());
        if let Some((command, result)) = self.events.tell(warnings, wanted) {
            let completion = Completion { command, status: Status::SUCCESS, result };
            self.replies.answer(&completion, self.queue.as_ref());
        }
    }

    fn report_zones(&mut self, command: &Command) -> io::Result<()> {
        let answer = match (self.subsystem.drive.zones(), nvm::data(self.subsystem, command)) {
            (Some(zones), Ok(Data::ToHost(length))) => zones::receive(self.subsystem, zones, command, length),
            _ => Status::INVALID_FIELD.into(),
        };
        self.answer(command, &answer)
    }

    fn tell_handles(&mut self, command: &Command) -> io::Result<()> {
        let subsystem = self.subsystem;
        let answer = match (&subsystem.placing, subsystem.placed(), nvm::data(subsystem, command)) {
            (Some(placing), Some(placed), Ok(Data::ToHost(length))) => {
                placement::receive(subsystem, placing, placed, length)
            }
            (Some(_), _, Ok(Data::None)) => Answer::result(0),
            _ => Status::INVALID_FIELD.into(),
        };
        self.answer(command, &answer)
    }

    fn read(&mut self, command: &Command) -> io::Result<()> {
        let Ok(Data::ToHost(length)) = nvm::data(self.subsystem, command) else {
            return self.answer(command, &Status::INVALID_FIELD.into());
        };
        let done = nvm::read(self.subsystem, command, self.replies.data_room(length));
        self.finish(command, done, length)
    }

    /// Answers an I/O command, now or when it is due; a read's `length` data bytes are in their room.
    fn finish(&mut self, command: &Command, done: Result<Done, Status>, length: usize) -> io::Result<()> {
        let done = match done {
            Ok(done) => done,
            Err(status) => return self.answer(command, &status.into()),
        };
        let completion = Completion { command: command.id(), status: Status::SUCCESS, result: done.result };
        let queue = self.queue.as_ref();
        let place = match length {
            0 if done.is_change => self.replies.answer_change(&completion, queue),
            0 => self.replies.answer(&completion, queue),
            _ => self.replies.answer_with_data(&completion, queue, length),
        };
        if done.due.wait().is_zero() {
            return Ok(());
        }
        self.postpone(place, done.due)
    }

    /// Sends the last answer when it is due.
    fn postpone(&mut self, place: std::ops::Range<usize>, due: Due) -> io::Result<()> {
        self.replies.hand_over(&*self.subsystem.drive, write_status);
        let bytes = self.replies.take_back(place);
        let held = self.memory(bytes.len() + OVERHEAD_BYTES)?;
        match &mut self.later {
            Some(later) => later.send(due, bytes, held),
            None => Ok(()),
        }
    }

    /// Answers a command at once.
    fn answer(&mut self, command: &Command, answer: &Answer) -> io::Result<()> {
        let completion = Completion { command: command.id(), status: answer.status, result: answer.result };
        let queue = self.queue.as_ref();
        if answer.status != Status::SUCCESS {
            if let Some(queue) = queue {
                queue.controller.state().errors.add(queue.id, command, answer.status);
            }
        }
        match answer.data.len() {
            0 => drop(self.replies.answer(&completion, queue)),
            length => {
                self.replies.data_room(length).copy_from_slice(&answer.data);
                self.replies.answer_with_data(&completion, queue, length);
            }
        }
        Ok(())
    }
}

/// Why a PDU ends the connection.
enum End {
    Fatal(Fatal),
    Io(io::Error),
}

impl From<Fatal> for End {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Whether the next PDU has arrived.
fn has_whole_pdu(incoming: &Incoming<Watched>) -> bool {
    incoming.has(HEAD_BYTES) && incoming.has(Head::parse(incoming.peek()).length)
}
