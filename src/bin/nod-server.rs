//! `nod-server`: the server side of the device link.

fn main() -> std::process::ExitCode {
    nod::server::run()
}
