//! What is done to the servers, one thing after the other. The disk is full for SQLite alone: that of PostgreSQL is not
//! the program's, which sees no more of it than a database that refuses.

use std::time::Duration;

use testkit::LineState;
use tokio::time::Instant;

use super::{server::Server, world::World};

/// How long it works undisturbed between two faults, and how long a fault lasts.
const CALM: Duration = Duration::from_secs(8);
const FAULT: Duration = Duration::from_secs(6);
/// How long a frozen server may take to wake up to what it has lost.
const FREEZE: Duration = Duration::from_secs(15);

/// A full disk takes this much more in a file, and then nothing.
const DISK_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    FullDisk,
    LostDatabase,
    SilentDatabase,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "killed",
            Self::Freeze => "frozen",
            Self::FullDisk => "disk full",
            Self::LostDatabase => "database lost",
            Self::SilentDatabase => "database silent",
        }
    }
}

/// Disturbs the servers for so long.
pub(crate) async fn go_on(world: &World, time: Duration) -> anyhow::Result<()> {
    let faults: &[Fault] = if world.line.is_some() {
        &[Fault::Kill, Fault::LostDatabase, Fault::Freeze, Fault::SilentDatabase]
    } else {
        &[Fault::Kill, Fault::FullDisk, Fault::Freeze]
    };
    let begun = Instant::now();
    for (number, fault) in faults.iter().cycle().enumerate() {
        tokio::time::sleep(CALM).await;
        if begun.elapsed() >= time {
            break;
        }
        disturb(world, *fault, server_of(number, faults.len(), world.servers.len())).await?;
        world.figures.fault(fault.name());
        revive(world).await?;
    }
    Ok(())
}

/// Leaves that to others, and only starts servers anew that have ended by themselves.
pub(crate) async fn wait(world: &World, time: Duration) -> anyhow::Result<()> {
    println!("  servers: {}", world.servers.iter().map(Server::address).collect::<Vec<_>>().join(" "));
    let begun = Instant::now();
    while begun.elapsed() < time {
        tokio::time::sleep(FAULT).await;
        start_ended(world)?;
    }
    Ok(())
}

/// Whom a fault meets: a round of all faults each, so that each server meets each fault.
fn server_of(number: usize, faults: usize, servers: usize) -> usize {
    number / faults % servers
}

async fn disturb(world: &World, fault: Fault, server: usize) -> anyhow::Result<()> {
    let server = &world.servers[server];
    match fault {
        Fault::Kill => {
            server.kill()?;
            server.start()?;
        }
        Fault::Freeze => {
            server.signal("-STOP")?;
            tokio::time::sleep(FREEZE).await;
            server.signal("-CONT")?;
        }
        Fault::FullDisk => {
            server.limit_files(Some(DISK_BYTES))?;
            tokio::time::sleep(FAULT).await;
            server.limit_files(None)?;
        }
        Fault::LostDatabase | Fault::SilentDatabase => {
            let Some(line) = &world.line else { return Ok(()) };
            let is_lost = matches!(fault, Fault::LostDatabase);
            line.set(if is_lost { LineState::Cut } else { LineState::Silent });
            tokio::time::sleep(FAULT).await;
            // What met the silence is silent for good.
            line.set(LineState::Cut);
            line.set(LineState::Up);
        }
    }
    Ok(())
}

/// Waits until all work again.
async fn revive(world: &World) -> anyhow::Result<()> {
    start_ended(world)?;
    for server in world.servers.iter() {
        world.ready(server).await?;
    }
    Ok(())
}

/// Starts what has ended by itself anew, as a service manager does, and counts that.
fn start_ended(world: &World) -> anyhow::Result<()> {
    for server in world.servers.iter() {
        if server.has_ended()? {
            println!("  the server at {} ended by itself: {}", server.address(), server.log());
            world.figures.fault("ended by itself");
            server.kill()?;
            server.start()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::server_of;

    #[test]
    fn every_server_meets_every_fault() {
        for (faults, servers) in [(4, 2), (3, 1), (3, 2), (4, 3)] {
            let met: HashSet<_> =
                (0..faults * servers).map(|number| (number % faults, server_of(number, faults, servers))).collect();
            assert_eq!(met.len(), faults * servers);
        }
    }
}
