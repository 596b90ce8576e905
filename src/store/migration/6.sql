-- What servers turned out not to take, so that it is not offered again after a restart.
CREATE TABLE refusal (
    format TEXT NOT NULL,
    address TEXT NOT NULL,
    model TEXT NOT NULL, -- empty for all of the server
    learnt TEXT NOT NULL, -- the adapter's own
    learnt_at INTEGER NOT NULL,
    PRIMARY KEY (format, address, model)
) STRICT, WITHOUT ROWID;
