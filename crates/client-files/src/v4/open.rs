use std::sync::Arc;

use buffer::Buffer;
use client_calls::DirChange;
use client_calls::v4::{Reply, Request, attributes, delegreturn, dir_change, putfh};
use proto::nfs4::{
    ArgOp, CreateHow, Delegation, Getattr, GetattrArgs, Getfh, MinorVersion, Open, OpenArgs, OpenHow, OpenOk, Putfh,
    RESULT_CONFIRM, Res, SHARE_DENY_NONE, StateOwner, Stateid, WANT_NO_DELEG, WANT_NO_PREFERENCE,
};
use tokio::sync::oneshot;
use vfs::{CreateMode, SetAttributes};

use super::client::{Attempts, Client};
use super::delegations::{Grant, Kind};
use super::open_confirm::open_confirm;
use super::open_file::OpenFile;
use super::opening::{Opening, Share, Target};
use super::owner::Owner;
use super::session::Session;
use super::verdicts::{is_forgotten, is_session_lost};
use crate::{Entry, Handle, Reason, Result};

/// How often one OPEN is retried because the server forgot the client.
const MAX_REPAIRS: u32 = 4;

/// A file that was just opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) entry: Entry,
    /// The change of the directory, if the file may have been created.
    pub(crate) dir_change: DirChange,
}

impl Client {
    /// Opens a file, and creates it on request. If the caller is dropped, the file is closed again; if it may have been
    /// created, the cache of its name is invalidated.
    pub(crate) async fn open(&self, opening: Opening) -> Result<Opened> {
        let (sender, receiver) = oneshot::channel();
        let (client, made) = (self.clone(), opening.create.is_some().then(|| opening.target.clone()));
        // Boxed, since a task's future is moved several times before it is polled.
        tokio::spawn(Box::pin(async move {
            let sent = sender.send(open(client.clone(), opening).await);
            if let (Err(opened), Some(target), Some(mounted)) = (sent, made, client.mounted()) {
                let file = opened.as_ref().ok().map(|opened| opened.entry.handle);
                mounted.outdate_opened(&target, file.as_ref());
            }
        }));
        let closed = |_| self.error("OPEN", Reason::NoReply(client_calls::core::Failure::Closed));
        receiver.await.map_err(closed)?
    }
}

/// Opens a file, and creates it on request (RFC 7530 §16.16, RFC 8881 §18.16).
///
/// This must run to its end: an OPEN whose reply nobody sees would stay open.
async fn open(client: Client, opening: Opening) -> Result<Opened> {
    let excluding = client.0.opens.exclude(opening.share);
    if excluding.is_some() {
        // The server enforces shares only between opens that it knows.
        for file in client.0.opens.files() {
            file.open_at_server().await?;
        }
    }
    let mut owner = client.0.opens.take_owner(client.principal());
    let (mut patience, mut repairs) = (client.patience(), 0);
    loop {
        let session = client.session();
        let _under_way = client.0.opens.begin_open();
        match open_once(&client, &mut owner, &opening).await {
            Ok((stateid, entry, dir_change)) => {
                let file = OpenFile::new(client.clone(), entry.handle, &opening, owner, stateid);
                return Ok(Opened { file, entry, dir_change });
            }
            Err(error) if patience.allows(&error) => patience.wait().await,
            // The server restarted after the OPEN and does not know it when it is confirmed, or the lease expired.
            Err(error) if is_forgotten(&error) && repairs < MAX_REPAIRS => {
                repairs += 1;
                Box::pin(client.renew_session(&session)).await?;
            }
            Err(error) => {
                // Without a reply nobody knows what the owner holds.
                if error.status().is_some() {
                    client.0.opens.give_back(owner);
                }
                return Err(match &opening.target {
                    Target::Name { name, .. } => error.about(name),
                    Target::File(_) => error,
                });
            }
        }
    }
}

async fn open_once(client: &Client, owner: &mut Owner, opening: &Opening) -> Result<(Stateid, Entry, DirChange)> {
    let mut buffer = Buffer::new();
    let how = how(opening, client.minor_version(), &mut buffer);
    let name = owner.open_name();
    let (current, claim) = opening.target.claim();
    let mut attempts = Attempts::default();
    let reply = loop {
        let session = client.session();
        let arguments = OpenArgs {
            seqid: owner.open_seqid,
            share_access: client.wishes(&session, opening.share),
            share_deny: opening.share.deny,
            owner: StateOwner { client: session.client, owner: name.as_bytes() },
            how,
            claim,
        };
        let request = GetattrArgs { request: attributes::ALL };
        let file = ArgOp::Getattr(request);
        let operations =
            [putfh(current), ArgOp::Open(arguments), ArgOp::Getfh, file, putfh(current), dir_change::ask()];
        // An OPEN that creates no file changes no directory.
        let count = if opening.create.is_some() { operations.len() } else { operations.len() - 2 };
        match client.attempt(&session, &Request::changing("OPEN", &operations[..count])).await? {
            Ok(reply) => break reply,
            Err(trouble) => attempts.mend(client, &session, trouble).await?,
        }
    };
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = opened(results.next::<Open>()?, owner, &reply)?;
    let handle = Handle::from(results.ok::<Getfh, _>()?);
    let found = results.ok::<Getattr, _>();
    let found = found.and_then(|found| attributes::neutral(&found).map_err(|reason| reply.error(reason)));
    let granting = Granting {
        session: None,
        target: Some(&opening.target),
        access: opening.share.access,
        change: found.as_ref().ok().map(|found| found.change),
    };
    let stateid = settle(client, &granting, &handle, &ok, owner).await?;
    let found = found?;
    let dir_change = match opening.create {
        Some(_) => dir_change::read_named(&mut results, ok.change),
        None => DirChange::default(),
    };
    Ok((stateid, Entry { handle, attributes: found }, dir_change))
}

/// The result of OPEN. It advances the owner's sequence number if the OPEN used it.
pub(super) fn opened<'r>(result: Res<OpenOk<'r>>, owner: &mut Owner, reply: &Reply) -> Result<OpenOk<'r>> {
    match result {
        Res::Ok(ok) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(1);
            Ok(ok)
        }
        Res::Fail(status) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(status.uses_seqid()));
            Err(reply.refusal(status))
        }
    }
}

/// The context of an OPEN, besides its owner.
pub(super) struct Granting<'a> {
    /// The session that it must have used, if any.
    pub(super) session: Option<&'a Arc<Session>>,
    /// How the file was found, if that is certain.
    pub(super) target: Option<&'a Target>,
    /// The access that it was opened for.
    pub(super) access: u32,
    /// The file's change attribute, if the server reported it.
    pub(super) change: Option<u64>,
}

/// Finishes an OPEN: keeps or returns its delegation, and confirms the owner if the server requires it.
pub(super) async fn settle(
    client: &Client,
    granting: &Granting<'_>,
    handle: &Handle,
    ok: &OpenOk<'_>,
    owner: &mut Owner,
) -> Result<Stateid> {
    let session = granting.session;
    let delegation = match &ok.delegation {
        Delegation::Read(delegation) => Some((Kind::Read, delegation.stateid, delegation.recall)),
        Delegation::Write(delegation) => Some((Kind::Write, delegation.stateid, delegation.recall)),
        Delegation::None | Delegation::NoneExt(_) => None,
    };
    let kind = delegation.map_or(Kind::Read, |(kind, _, _)| kind);
    let wanted = granting.change.filter(|_| client.takes_delegations(kind));
    match (delegation, wanted) {
        (Some((kind, stateid, is_recalled)), Some(change)) => {
            let user = Arc::clone(client.principal());
            let grant = Grant { kind, stateid, user, access: granting.access, change };
            client.give_back_soon(client.0.delegations.grant(&grant, handle, granting.target));
            if is_recalled {
                client.recall(handle, stateid);
            }
        }
        (Some((_, stateid, _)), None) => {
            match Box::pin(delegreturn(&client.in_session(session), handle, stateid)).await {
                // A delegation that the server does not take back does not exist.
                Err(error) if error.status().is_some() && !is_session_lost(&error) => {}
                other => other?,
            }
        }
        (None, Some(_)) => client.0.delegations.allow(handle, client.principal(), granting.access),
        (None, None) => {}
    }
    if ok.flags & RESULT_CONFIRM != 0 && client.minor_version() == MinorVersion::V0 {
        return Box::pin(open_confirm(client, session, handle, ok.stateid, owner)).await;
    }
    Ok(ok.stateid)
}

impl Client {
    /// Whether delegations of this kind are used. In 4.0 the server must be able to call, and only read delegations are
    /// used: it cannot tell the holder's GETATTR from others, and could ask the holder what the holder asks it.
    fn takes_delegations(&self, kind: Kind) -> bool {
        let has_sessions = self.minor_version().has_sessions();
        let is_wanted = match kind {
            Kind::Read => has_sessions || self.0.identity.called_at.is_some(),
            Kind::Write => has_sessions && self.0.uses_write_delegations,
        };
        is_wanted && self.0.uses_delegations
    }

    /// The access bits of an OPEN, with the wish for a delegation from 4.1 on. A delegation is welcome where the server
    /// can recall it, unless the open denies access to others, which only the server enforces.
    fn wishes(&self, session: &Session, share: Share) -> u32 {
        let has_back_channel = session.channel.as_ref().is_some_and(|channel| channel.has_back_channel);
        let kind = if share == Share::READ { Kind::Read } else { Kind::Write };
        match share.deny == SHARE_DENY_NONE && has_back_channel && self.takes_delegations(kind) {
            true => share.access | WANT_NO_PREFERENCE,
            false => access(share, self.minor_version()),
        }
    }

    /// Opens a delegated file without asking the server. Not in 4.0: the later claim there uses only the file's name
    /// (RFC 7530 §16.16.5, CLAIM_DELEGATE_CUR), which may resolve to another file by then.
    pub(crate) fn open_delegated(&self, target: &Target, share: Share) -> Option<Arc<OpenFile>> {
        let is_excluding = share.deny != SHARE_DENY_NONE || self.0.opens.are_excluding();
        if is_excluding || !self.minor_version().has_sessions() {
            return None;
        }
        let delegations = &self.0.delegations;
        let delegation =
            delegations.to_open(target, share.access).filter(|delegation| delegation.user == *self.principal())?;
        let opening = Opening { target: Target::File(delegation.handle), share, create: None };
        let file = OpenFile::delegated(self.clone(), &delegation, &opening, self.0.opens.take_owner(self.principal()));
        // A task that returns the delegation or denies access looks for such files afterwards. Either it sees this
        // file, or this check fails.
        let is_it = delegations.is_held(&delegation) && !self.0.opens.are_excluding();
        is_it.then_some(file)
    }
}

/// The access bits of an OPEN that wants no delegation.
pub(super) fn access(share: Share, minor: MinorVersion) -> u32 {
    if minor.has_sessions() { share.access | WANT_NO_DELEG } else { share.access }
}

fn how<'b>(opening: &Opening, minor: MinorVersion, buffer: &'b mut Buffer) -> OpenHow<'b> {
    let Some((mode, set)) = &opening.create else { return OpenHow::NoCreate };
    OpenHow::Create(match mode {
        CreateMode::Unchecked => CreateHow::Unchecked(attributes::wire_set(set, buffer)),
        CreateMode::Guarded => CreateHow::Guarded(attributes::wire_set(set, buffer)),
        CreateMode::Exclusive(verifier) if minor.has_sessions() => {
            // SETATTR sets the rest: servers may store the verifier in the times.
            let first = SetAttributes { mode: set.mode, ..SetAttributes::default() };
            CreateHow::Exclusive41 { verifier: *verifier, attributes: attributes::wire_set(&first, buffer) }
        }
        CreateMode::Exclusive(verifier) => CreateHow::Exclusive(*verifier),
    })
}
