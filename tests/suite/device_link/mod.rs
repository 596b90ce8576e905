//! `nod-server` as a process, with devices that the tests play themselves: what goes over the wire, what the ledger says
//! afterwards, and that a call runs at most once whatever breaks.

/// Makes tests of scenarios: each in one process on a file, and again on PostgreSQL and NATS.
macro_rules! on_both {
    ($($scenario:ident,)*) => {
        $(mod $scenario {
            use crate::device_link::operator::Operator;

            #[tokio::test(flavor = "multi_thread")]
            async fn in_one_process_on_a_file() {
                super::$scenario(Operator::new()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgresql_and_nats() {
                if let Some(operator) = Operator::shared() {
                    super::$scenario(operator).await;
                }
            }
        })*
    };
}

/// The same for scenarios with threads of their own.
macro_rules! on_both_with_threads {
    ($($scenario:ident,)*) => {
        $(mod $scenario {
            use crate::device_link::operator::Operator;

            #[test]
            fn in_one_process_on_a_file() {
                super::$scenario(Operator::new());
            }

            #[test]
            fn on_postgresql_and_nats() {
                if let Some(operator) = Operator::shared() {
                    super::$scenario(operator);
                }
            }
        })*
    };
}

mod backend;
mod call;
mod client;
mod connection;
mod conversation;
mod crash;
#[cfg(target_os = "linux")]
mod desktop;
mod device;
mod load;
mod operator;
mod outage;
mod replica;
mod run;
#[cfg(target_os = "linux")]
mod scenario;
#[cfg(unix)]
mod step;
mod stranger;
mod tls;
