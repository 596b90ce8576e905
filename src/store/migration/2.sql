-- Providers that the person has set up. Their keys are in the system's keyring, never here.
CREATE TABLE provider (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    preset TEXT NOT NULL,
    base_url TEXT NOT NULL,
    is_remote INTEGER, -- NULL: by the address
    proxy TEXT, -- NULL: as for all
    ca_file TEXT, -- NULL: as for all
    key_origin TEXT, -- what the key in the keyring was entered for; NULL: there is none
    models TEXT -- the last list of models, JSON array; NULL: never asked
) STRICT;
