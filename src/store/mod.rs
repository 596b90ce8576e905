//! What is kept: SQLite behind one named thread with a bounded queue; readers have their own connection.
//!
//! One file per table family. No other room speaks SQL; rows are converted by hand to the IR. What the person typed,
//! decisions, ledger rows and final messages are committed with `synchronous=FULL` before what they guard.
