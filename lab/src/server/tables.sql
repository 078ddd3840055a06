-- Version 1 of the queue's tables, which stand beside those of the store. Times are nanoseconds since 1970 by the server's clock.
-- A released version is never changed; a later one is added after it (schema.rs).

-- `changes` counts the changes of the queue, `failures` the attempts that failed, lost leases included.
CREATE TABLE lab_state (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version integer NOT NULL,
    changes bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0
);
INSERT INTO lab_state (version) VALUES (1);

-- `doc` is the JSON form of tarebench_core::lab::campaign::Campaign, `toml` the file as it was submitted.
CREATE TABLE lab_campaign (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid text NOT NULL UNIQUE,
    name text NOT NULL,
    owner text NOT NULL,
    engine text NOT NULL CHECK (engine IN ('agents', 'slurm')),
    created_ns bigint NOT NULL,
    doc text NOT NULL,
    toml text NOT NULL,
    folder text,
    paused boolean NOT NULL DEFAULT false,
    cancelled boolean NOT NULL DEFAULT false
);
CREATE INDEX lab_campaign_name ON lab_campaign (name);

-- `plan` is the JSON form of tarebench_core::lab::tasks::LabTaskPlan; columns beside it repeat values for queries. A task with
-- a `machine` is for that one; others are for those that `fits_names` and `fits_tags` allow, where these are given, and no two of one
-- repetition go to one machine. `prefer` is the machine that has begun it and may have some of its samples. `agent` is
-- the machine that holds or last held it; `cancel`: it is to end at its next heartbeat. `samples` is counted when it is done.
CREATE TABLE lab_task (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign bigint NOT NULL REFERENCES lab_campaign (id) ON DELETE CASCADE,
    uuid text NOT NULL UNIQUE,
    ordinal integer NOT NULL,
    repetition integer NOT NULL,
    not_before_ns bigint NOT NULL,
    machine text,
    fits_names jsonb,
    fits_tags jsonb,
    retries integer NOT NULL,
    plan text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'done', 'failed', 'cancelled')),
    cancel boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    agent text,
    prefer text,
    lease_ends_ns bigint,
    done bigint,
    wanted bigint,
    samples bigint,
    started_ns bigint,
    ended_ns bigint,
    message text,
    runs text[] NOT NULL DEFAULT '{}',
    slurm text,
    exclusive boolean
);
CREATE INDEX lab_task_campaign ON lab_task (campaign, ordinal);
CREATE INDEX lab_task_any ON lab_task (campaign, not_before_ns, ordinal) WHERE state = 'waiting' AND machine IS NULL;
CREATE INDEX lab_task_machine ON lab_task (machine, campaign, not_before_ns, ordinal) WHERE state = 'waiting';
CREATE INDEX lab_task_prefer ON lab_task (prefer) WHERE state = 'waiting';
CREATE INDEX lab_task_lease ON lab_task (lease_ends_ns) WHERE state = 'leased';
CREATE INDEX lab_task_agent ON lab_task (agent, state);

-- Who took a task last. A lease that ended is still the last one until another takes the task. Of its secret only the SHA-256 is
-- known. `outcome` is NULL until its holder ends it.
CREATE TABLE lab_lease (
    task bigint PRIMARY KEY REFERENCES lab_task (id) ON DELETE CASCADE,
    digest bytea NOT NULL,
    machine text NOT NULL,
    instance text NOT NULL,
    owner text NOT NULL,
    outcome text CHECK (outcome IN ('finished', 'failed', 'given_back'))
);

-- `doc` is the JSON form of tarebench_core::lab::state::LabMachine as its agent gave it; the columns beside it are right where they
-- differ. `instance` is that of the process that announced itself last under this name, `former` are those before it.
CREATE TABLE lab_machine (
    name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 255),
    owner text NOT NULL,
    instance text NOT NULL CHECK (length(instance) BETWEEN 1 AND 255),
    former text[] NOT NULL DEFAULT '{}',
    doc text NOT NULL CHECK (length(doc) <= 4000000),
    tags jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('idle', 'busy', 'draining', 'too_loaded', 'outside_hours', 'gone')),
    load double precision,
    draining boolean NOT NULL DEFAULT false,
    first_seen_ns bigint NOT NULL,
    heartbeat_ns bigint NOT NULL,
    lease_ns bigint NOT NULL
);

-- Samples by when they were reported, in slots of 10 s; those of the last hour are kept.
CREATE TABLE lab_rate (
    slot bigint PRIMARY KEY,
    samples bigint NOT NULL
);
