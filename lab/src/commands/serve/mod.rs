//! `tare lab serve`: a lab as a web application that only reads.

mod app;
mod data;
mod events;
mod guard;
mod hosts;
mod listen;
mod nodes_cache;
mod pool;
mod reports;
mod routes;
mod server;
mod trouble;

use crate::commands::serve::app::ServeApp;
use crate::commands::serve::hosts::AllowedHosts;
use crate::commands::serve::listen::{ListenAddress, listen};
use crate::commands::serve::server::serve_until_signal;
use crate::postgres::PostgresPlace;
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use tarebench::store::is_server;
use tarebench_cli::args::store::environment;
use tarebench_cli::exit::{Exit, Failure};
use tarebench_cli::output;

/// Threads that wait for the database: one for each connection, and some for those that the network has lost.
const BLOCKING: usize = 12;

/// Serve a lab's campaigns, machines, results and metrics as web pages
///
/// The pages only read: nothing can be submitted, cancelled or changed there. They have no accounts of their own; let
/// the site's web server pass on requests to this one. Prometheus reads /metrics.
#[derive(Args)]
#[command(after_help = "Examples:
  tare lab serve --db postgresql://reader@lab.example/tare
  tare lab serve --db postgresql:///tare?host=/run/postgresql --listen unix:/run/tare.sock --host lab.example")]
pub struct ServeArgs {
    /// The lab: a PostgreSQL database, postgresql://USER@HOST/DATABASE; a user with the role tare_reader suffices
    /// [default: what PGSERVICE or PGHOST name]
    #[arg(long, value_name = "URL", env = "TARE_DB", hide_env_values = true, help_heading = "Store")]
    db: Option<String>,
    /// Listen on this address and port (0: any free one), or on a Unix socket: unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = ListenAddress::parse)]
    listen: ListenAddress,
    /// Also answer requests for this host name, as a proxy passes them on; can be repeated. Others are refused,
    /// except localhost and the address of --listen
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

pub fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    let place = PostgresPlace::parse(url(args)?, &read_only)?;
    if let Some(warning) = place.warning() {
        eprintln!("tare: {}", tarebench::report::text::escape(warning));
    }
    let hosts = AllowedHosts::new(&args.host, args.listen.ip());
    let app = ServeApp::new(&place, hosts).map_err(|trouble| Failure::system(trouble.said().2))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING).build();
    let runtime = runtime.map_err(|e| Failure::system(format!("start the web server: {e}")))?;
    let ended = runtime.block_on(begin(args, Arc::clone(&app)));
    // Questions that the database has not answered are not waited for. Connections must be closed outside of the
    // runtime.
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(app);
    ended
}

fn url(args: &ServeArgs) -> Result<&str, Failure> {
    const NAME_ONE: &str = "name one as postgresql://USER@HOST/DATABASE; `tare lab init URL` makes it a lab";
    match args.db.as_deref() {
        Some(name) if is_server(name.as_ref()) => Ok(name),
        Some(name) if !name.is_empty() => {
            Err(Failure::usage(format!("`{name}` is a file: a lab is a PostgreSQL database")).hint(NAME_ONE))
        }
        _ if ["PGSERVICE", "PGHOST"].into_iter().any(|v| environment(v).is_some()) => Ok("postgresql://"),
        _ => Err(Failure::usage("there is no lab: expected --db URL or TARE_DB").hint(NAME_ONE)),
    }
}

/// The environment, in which the server is asked to refuse every change, whatever the user may do, and to end what
/// takes too long. An address with options of its own keeps those.
fn read_only(name: &str) -> Option<String> {
    let own = environment(name);
    if name != "PGOPTIONS" {
        return own;
    }
    let own = own.map(|own| format!("{own} ")).unwrap_or_default();
    Some(format!("{own}-c default_transaction_read_only=on -c statement_timeout=45s"))
}

async fn begin(args: &ServeArgs, app: Arc<ServeApp>) -> Result<Exit, Failure> {
    let (socket, at) = listen(&args.listen).await?;
    if args.listen.is_public() {
        eprintln!(
            "tare: other machines can read this lab at {at}: it has no accounts, so put the site's proxy before it"
        );
    }
    // A database that is away now may come back: the pages say so until then.
    if let Err(trouble) = app.labs.with(data::version).await {
        let (_, _, text) = trouble.said();
        eprintln!("tare: {}", tarebench::report::text::escape(&text));
    }
    output::print(&format!("listening on {at}\n"));
    serve_until_signal(socket, app).await
}
