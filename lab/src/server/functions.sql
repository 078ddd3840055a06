-- What the roles may do with the queue. All functions run as their owner, so that a role needs no right on the tables, with a fixed
-- search path: pg_temp is named last, because it is searched first where it is not named, and anyone may create tables in it.
-- Callers are told apart by session_user, which SET ROLE does not change.
--
-- Locks are taken in one order, so that nobody waits in a circle: campaign, machine, tasks (several only by their number or with
-- SKIP LOCKED), lease, rate, state. Each function is called as a statement of its own and holds them for no longer than that, also
-- where the connection is cut.

CREATE OR REPLACE FUNCTION lab_now() RETURNS bigint LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT (extract(epoch FROM clock_timestamp())::numeric * 1000000000)::bigint
$$;

-- The owner of the functions, or a member of tare_admin.
CREATE OR REPLACE FUNCTION lab_is_admin() RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT session_user = current_user OR pg_has_role(session_user, 'tare_admin', 'USAGE')
$$;

-- The time of a lease that was asked for, from 1 ms to 7 days.
CREATE OR REPLACE FUNCTION lab_bounded(a_lease bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT least(greatest(coalesce(a_lease, 300000000000), 1000000), 604800000000000)
$$;

-- The last step of each change: whoever waits for this row holds the others no longer than its commit takes.
CREATE OR REPLACE FUNCTION lab_changed(a_failures bigint) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    UPDATE lab_state SET changes = changes + 1, failures = failures + a_failures;
    PERFORM pg_notify('tare_lab', '');
END
$$;

CREATE OR REPLACE FUNCTION lab_count(a_samples bigint, a_now bigint) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    IF a_samples > 0 THEN
        INSERT INTO lab_rate AS r (slot, samples) VALUES (a_now / 10000000000, least(a_samples, 1000000000))
            ON CONFLICT (slot) DO UPDATE SET samples = r.samples + excluded.samples;
    END IF;
END
$$;

-- Locks a machine for a process of it. A process that was not heard of before takes the place of an earlier one under that name,
-- which is told when it asks next. Clocks of machines do not decide who is the later one.
CREATE OR REPLACE FUNCTION lab_lock_machine(a_name text, a_instance text) RETURNS lab_machine LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    m lab_machine;
BEGIN
    SELECT * INTO m FROM lab_machine WHERE name = a_name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL002', MESSAGE = 'no such machine';
    END IF;
    IF m.owner <> session_user AND NOT lab_is_admin() THEN
        RAISE EXCEPTION USING ERRCODE = 'TL003', MESSAGE = 'the machine has another owner', DETAIL = m.owner;
    END IF;
    IF a_instance = ANY (m.former) AND a_instance <> m.instance THEN
        RAISE EXCEPTION USING ERRCODE = 'TL004', MESSAGE = 'a later agent has this name';
    END IF;
    IF a_instance <> m.instance THEN
        UPDATE lab_machine SET former = (m.instance || former)[1:50], instance = a_instance WHERE name = a_name
            RETURNING * INTO m;
    END IF;
    RETURN m;
END
$$;

CREATE OR REPLACE FUNCTION lab_announce(
    a_name text, a_instance text, a_doc text, a_tags text, a_state text, a_load double precision
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    m lab_machine;
    now_ns bigint := lab_now();
    new boolean;
BEGIN
    INSERT INTO lab_machine (name, owner, instance, doc, tags, state, load, first_seen_ns, heartbeat_ns, lease_ns)
        VALUES (a_name, session_user, a_instance, a_doc, a_tags::jsonb, a_state, a_load, now_ns, now_ns, lab_bounded(NULL))
        ON CONFLICT (name) DO NOTHING;
    new := FOUND;
    SELECT * INTO m FROM lab_machine WHERE name = a_name;
    new := new OR m.state <> a_state OR m.instance <> a_instance OR m.tags <> a_tags::jsonb;
    m := lab_lock_machine(a_name, a_instance);
    UPDATE lab_machine SET doc = a_doc, tags = a_tags::jsonb, state = a_state, load = a_load, heartbeat_ns = now_ns
        WHERE name = a_name;
    IF new THEN
        PERFORM lab_changed(0);
    END IF;
    RETURN m.draining;
END
$$;

-- Ends the leases that were not extended in time; returns how many. Those that another transaction is changing are left to it.
CREATE OR REPLACE FUNCTION lab_expire(a_now bigint) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    WITH late AS (
        SELECT id FROM lab_task WHERE state = 'leased' AND lease_ends_ns < a_now ORDER BY id FOR UPDATE SKIP LOCKED
    )
    UPDATE lab_task AS t SET
        state = CASE WHEN t.cancel THEN 'cancelled' WHEN t.attempts > t.retries THEN 'failed' ELSE 'waiting' END,
        message = format('its machine %s was not heard of for longer than its lease', t.agent),
        ended_ns = a_now, lease_ends_ns = NULL
    FROM late WHERE t.id = late.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;

-- Gives a task to a machine, both of which are locked, under a new secret. `a_repeated`: the same process asks again, as it has not
-- got the answer; that is no other attempt.
CREATE OR REPLACE FUNCTION lab_grant(
    a_task bigint, a_machine text, a_instance text, a_lease bigint, a_now bigint, a_repeated boolean
) RETURNS TABLE (o_task bigint, o_secret text, o_plan text, o_campaign text, o_attempt integer, o_ends bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    -- Each uuid has 122 random bits from the system.
    secret text := encode(substr(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, 16), 'hex');
    t lab_task;
BEGIN
    UPDATE lab_task SET
        state = 'leased', cancel = false, agent = a_machine, prefer = a_machine, lease_ends_ns = a_now + lab_bounded(a_lease),
        attempts = attempts + CASE WHEN a_repeated THEN 0 ELSE 1 END,
        started_ns = CASE WHEN a_repeated THEN started_ns ELSE a_now END, ended_ns = NULL,
        done = CASE WHEN agent = a_machine THEN done END, wanted = CASE WHEN agent = a_machine THEN wanted END
        WHERE id = a_task RETURNING * INTO t;
    INSERT INTO lab_lease (task, digest, machine, instance, owner)
        VALUES (t.id, sha256(convert_to(secret, 'UTF8')), a_machine, a_instance, session_user)
        ON CONFLICT (task) DO UPDATE SET digest = excluded.digest, machine = excluded.machine,
            instance = excluded.instance, owner = excluded.owner, outcome = NULL;
    RETURN QUERY SELECT t.id, secret, t.plan, c.name, t.attempts, t.lease_ends_ns FROM lab_campaign AS c WHERE c.id = t.campaign;
END
$$;

-- Looks at the task that a machine holds when it asks for one: returns it if the machine goes on with it, else releases it.
CREATE OR REPLACE FUNCTION lab_still_held(a_machine text, a_instance text, a_now bigint)
RETURNS TABLE (o_task bigint, o_repeated boolean, o_failures bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    t lab_task;
    paused boolean;
    repeated boolean;
    next text;
BEGIN
    SELECT * INTO t FROM lab_task WHERE agent = a_machine AND state = 'leased' ORDER BY id LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT c.paused INTO paused FROM lab_campaign AS c WHERE c.id = t.campaign;
    repeated := EXISTS (
        SELECT FROM lab_lease AS l WHERE l.task = t.id AND l.instance = a_instance AND l.outcome IS NULL
    );
    next := CASE
        WHEN t.cancel THEN 'cancelled'
        -- Its process ended without a word: a program that takes the machine down must not be started for ever.
        WHEN NOT repeated AND t.attempts > t.retries THEN 'failed'
        WHEN paused THEN 'waiting'
        ELSE 'leased' END;
    IF next <> 'leased' THEN
        UPDATE lab_task SET state = next, ended_ns = a_now, lease_ends_ns = NULL,
            attempts = attempts - CASE WHEN next = 'waiting' AND repeated THEN 1 ELSE 0 END,
            message = CASE WHEN next = 'failed' THEN format('the agent of machine %s ended while the task ran', a_machine)
                ELSE message END
            WHERE id = t.id;
        UPDATE lab_lease SET outcome = 'given_back' WHERE task = t.id AND next = 'waiting';
    END IF;
    RETURN QUERY SELECT CASE WHEN next = 'leased' THEN t.id END, repeated,
        CASE WHEN repeated OR next = 'cancelled' THEN 0 ELSE 1 END::bigint;
END
$$;

CREATE OR REPLACE FUNCTION lab_take(a_machine text, a_instance text, a_lease bigint)
RETURNS TABLE (o_task bigint, o_secret text, o_plan text, o_campaign text, o_attempt integer, o_ends bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    m lab_machine := lab_lock_machine(a_machine, a_instance);
    t lab_task;
    now_ns bigint := lab_now();
    failures bigint := 0;
    released bigint;
    repeated boolean := false;
BEGIN
    UPDATE lab_machine SET lease_ns = lab_bounded(a_lease), heartbeat_ns = now_ns WHERE name = m.name;
    IF NOT m.draining THEN
        SELECT h.o_task, h.o_repeated, h.o_failures INTO t.id, repeated, released
            FROM lab_still_held(m.name, a_instance, now_ns) AS h;
    END IF;
    IF t.id IS NULL THEN
        repeated := false;
        failures := lab_expire(now_ns);
    END IF;
    IF t.id IS NULL AND NOT m.draining THEN
        t := lab_next(m, now_ns);
    END IF;
    IF t.id IS NOT NULL THEN
        DELETE FROM lab_rate WHERE slot < now_ns / 10000000000 - 360;
        RETURN QUERY SELECT * FROM lab_grant(t.id, m.name, a_instance, a_lease, now_ns, repeated);
    END IF;
    IF t.id IS NOT NULL OR failures > 0 OR released IS NOT NULL THEN
        PERFORM lab_changed(failures + coalesce(released, 0));
    END IF;
END
$$;

-- Whether a waiting task may go to a machine.
CREATE OR REPLACE FUNCTION lab_fits(w lab_task, m lab_machine) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, @schema, pg_temp AS $$
    SELECT CASE WHEN w.machine IS NOT NULL THEN w.machine = m.name
        ELSE (w.fits_names IS NULL OR w.fits_names ? m.name) AND (w.fits_tags IS NULL OR m.tags @> w.fits_tags)
            AND NOT EXISTS (
                SELECT FROM lab_task AS o WHERE o.agent = m.name AND o.state IN ('leased', 'done')
                    AND o.campaign = w.campaign AND o.repetition = w.repetition AND o.id <> w.id)
        END
$$;

-- Locks the task that a machine is to get next: one that it has begun, else the oldest; NULL if there is none. Each query reads an
-- index in its order up to the first task that fits, as there may be a hundred thousand of them for other machines.
CREATE OR REPLACE FUNCTION lab_next(m lab_machine, a_now bigint) RETURNS lab_task LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    t lab_task;
    own lab_task;
BEGIN
    SELECT w.* INTO t FROM lab_task AS w JOIN lab_campaign AS c ON c.id = w.campaign
        WHERE w.state = 'waiting' AND w.prefer = m.name AND w.not_before_ns <= a_now
            AND c.engine = 'agents' AND NOT c.paused AND NOT c.cancelled AND lab_fits(w, m)
        ORDER BY w.campaign, w.not_before_ns, w.ordinal LIMIT 1 FOR UPDATE OF w SKIP LOCKED;
    IF FOUND THEN
        RETURN t;
    END IF;
    SELECT w.* INTO own FROM lab_task AS w JOIN lab_campaign AS c ON c.id = w.campaign
        WHERE w.state = 'waiting' AND w.machine = m.name AND w.not_before_ns <= a_now
            AND c.engine = 'agents' AND NOT c.paused AND NOT c.cancelled
        ORDER BY w.campaign, w.not_before_ns, w.ordinal LIMIT 1;
    SELECT w.* INTO t FROM lab_task AS w JOIN lab_campaign AS c ON c.id = w.campaign
        WHERE w.state = 'waiting' AND w.machine IS NULL AND w.not_before_ns <= a_now
            AND (own.id IS NULL OR (w.campaign, w.not_before_ns, w.ordinal) < (own.campaign, own.not_before_ns, own.ordinal))
            AND c.engine = 'agents' AND NOT c.paused AND NOT c.cancelled AND lab_fits(w, m)
        ORDER BY w.campaign, w.not_before_ns, w.ordinal LIMIT 1 FOR UPDATE OF w SKIP LOCKED;
    IF t.id IS NULL AND own.id IS NOT NULL THEN
        SELECT w.* INTO t FROM lab_task AS w
            WHERE w.id = own.id AND w.state = 'waiting' FOR UPDATE SKIP LOCKED;
    END IF;
    RETURN t;
END
$$;

-- A task by its number, which something else than the queue has given to this machine, such as Slurm.
CREATE OR REPLACE FUNCTION lab_take_task(a_task bigint, a_machine text, a_instance text, a_lease bigint)
RETURNS TABLE (o_task bigint, o_secret text, o_plan text, o_campaign text, o_attempt integer, o_ends bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    m lab_machine := lab_lock_machine(a_machine, a_instance);
    t lab_task;
    now_ns bigint := lab_now();
    failures bigint := 0;
    held bigint;
    released bigint;
    repeated boolean;
    free boolean;
BEGIN
    UPDATE lab_machine SET lease_ns = lab_bounded(a_lease), heartbeat_ns = now_ns WHERE name = m.name;
    SELECT h.o_task, h.o_repeated, h.o_failures INTO held, repeated, released
        FROM lab_still_held(m.name, a_instance, now_ns) AS h;
    SELECT * INTO t FROM lab_task WHERE id = a_task FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL001', MESSAGE = 'no such task';
    END IF;
    IF held IS NULL THEN
        failures := lab_expire(now_ns);
        SELECT * INTO t FROM lab_task WHERE id = a_task;
        -- Slurm says that it runs, which is what this asks for.
        repeated := t.state = 'leased' AND t.lease_ends_ns IS NULL;
        free := NOT m.draining AND NOT t.cancel AND (repeated OR t.state = 'waiting')
            AND NOT EXISTS (SELECT FROM lab_campaign AS c WHERE c.id = t.campaign AND (c.paused OR c.cancelled));
    ELSE
        free := held = a_task;
    END IF;
    IF free THEN
        RETURN QUERY SELECT * FROM lab_grant(t.id, m.name, a_instance, a_lease, now_ns, repeated);
    END IF;
    IF free OR failures > 0 OR released IS NOT NULL THEN
        PERFORM lab_changed(failures + coalesce(released, 0));
    END IF;
END
$$;

-- The lease of a task under this secret, if nobody else has taken the task since; else a lease without a task. Locks its machine and
-- the task.
CREATE OR REPLACE FUNCTION lab_lock_lease(a_task bigint, a_secret text) RETURNS lab_lease LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    l lab_lease;
    hashed bytea := sha256(convert_to(a_secret, 'UTF8'));
BEGIN
    SELECT * INTO l FROM lab_lease WHERE task = a_task AND digest = hashed;
    IF FOUND AND (l.owner = session_user OR lab_is_admin()) THEN
        PERFORM FROM lab_machine WHERE name = l.machine FOR UPDATE;
        PERFORM FROM lab_task WHERE id = a_task FOR UPDATE;
        -- Another may have taken it while this waited.
        SELECT * INTO l FROM lab_lease WHERE task = a_task AND digest = hashed;
        RETURN l;
    END IF;
    RETURN NULL;
END
$$;

-- 'held', 'cancel_wanted' or 'lost'.
CREATE OR REPLACE FUNCTION lab_heartbeat(a_task bigint, a_secret text, a_lease bigint, a_done bigint, a_wanted bigint)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    l lab_lease := lab_lock_lease(a_task, a_secret);
    t lab_task;
    now_ns bigint := lab_now();
    done_now bigint := CASE WHEN a_done >= 0 THEN a_done END;
    wanted_now bigint := CASE WHEN a_wanted >= 0 THEN a_wanted END;
BEGIN
    IF l.task IS NULL THEN
        RETURN 'lost';
    END IF;
    UPDATE lab_machine SET heartbeat_ns = now_ns, lease_ns = lab_bounded(a_lease) WHERE name = l.machine;
    SELECT * INTO t FROM lab_task WHERE id = a_task;
    IF t.state = 'done' THEN
        RETURN 'held';
    ELSIF l.outcome IS NOT NULL THEN
        RETURN 'lost';
    ELSIF t.state = 'cancelled' THEN
        RETURN 'cancel_wanted';
    ELSIF t.state <> 'leased'
        -- Its lease has ended, but nobody else took the task. Its machine holds one task at a time.
        AND EXISTS (SELECT FROM lab_task AS o WHERE o.agent = l.machine AND o.state = 'leased') THEN
        RETURN 'lost';
    END IF;
    UPDATE lab_task SET state = 'leased', lease_ends_ns = now_ns + lab_bounded(a_lease), ended_ns = NULL,
        attempts = greatest(attempts, 1), done = coalesce(done_now, done), wanted = coalesce(wanted_now, wanted)
        WHERE id = a_task;
    PERFORM lab_count(done_now - coalesce(t.done, 0), now_ns);
    IF t.state <> 'leased' OR done_now <> t.done OR (done_now IS NOT NULL AND t.done IS NULL) OR wanted_now <> t.wanted
        OR (wanted_now IS NOT NULL AND t.wanted IS NULL) THEN
        PERFORM lab_changed(0);
    END IF;
    RETURN CASE WHEN t.cancel THEN 'cancel_wanted' ELSE 'held' END;
END
$$;

-- The finished runs of a task in the store: those that its holder or the caller has pushed, as anyone may tag their own with any task.
CREATE OR REPLACE FUNCTION lab_task_runs(a_uuid text, a_owner text) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path = pg_catalog, @schema, pg_temp AS $$
    SELECT r.uuid FROM run AS r JOIN tag AS g ON g.run_id = r.id
        WHERE g.key = 'lab.task' AND g.value = a_uuid AND r.status = 'finished' AND r.owner IN (session_user, a_owner)
$$;

-- Those of a task's runs that the store does not hold as such.
CREATE OR REPLACE FUNCTION lab_missing_runs(a_uuid text, a_runs text[], a_owner text) RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, @schema, pg_temp AS $$
    SELECT coalesce(array_agg(u), '{}') FROM unnest(a_runs) AS u WHERE u NOT IN (SELECT lab_task_runs(a_uuid, a_owner))
$$;

-- The task, which is locked, is done with these runs.
CREATE OR REPLACE FUNCTION lab_done(a_task bigint, a_runs text[], a_exclusive boolean, a_owner text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    t lab_task;
    now_ns bigint := lab_now();
    missing text[];
    counted bigint;
BEGIN
    SELECT * INTO t FROM lab_task WHERE id = a_task;
    missing := lab_missing_runs(t.uuid, a_runs, a_owner);
    IF cardinality(missing) > 0 OR coalesce(cardinality(a_runs), 0) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'TL005', MESSAGE = 'runs are missing', DETAIL = array_to_string(missing, ' ');
    END IF;
    SELECT coalesce(sum(c.counted), 0) INTO counted FROM run_counted AS c JOIN run AS r ON r.id = c.run_id
        WHERE r.uuid = ANY (a_runs);
    UPDATE lab_task SET state = 'done', runs = ARRAY (SELECT DISTINCT u FROM unnest(a_runs) AS u ORDER BY u),
        exclusive = coalesce(a_exclusive, exclusive), started_ns = coalesce(started_ns, now_ns), ended_ns = now_ns,
        lease_ends_ns = NULL, cancel = false, message = NULL, done = counted, samples = counted
        WHERE id = a_task;
    PERFORM lab_count(counted - coalesce(t.done, 0), now_ns);
END
$$;

CREATE OR REPLACE FUNCTION lab_finish(a_task bigint, a_secret text, a_runs text[], a_exclusive boolean)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    l lab_lease := lab_lock_lease(a_task, a_secret);
BEGIN
    IF l.task IS NULL THEN
        RETURN 'lost';
    END IF;
    UPDATE lab_machine SET heartbeat_ns = lab_now() WHERE name = l.machine;
    IF NOT EXISTS (SELECT FROM lab_task WHERE id = a_task AND state = 'done') THEN
        PERFORM lab_done(a_task, a_runs, a_exclusive, l.owner);
        UPDATE lab_lease SET outcome = 'finished' WHERE task = a_task;
        PERFORM lab_changed(0);
    END IF;
    RETURN 'held';
END
$$;

CREATE OR REPLACE FUNCTION lab_fail(a_task bigint, a_secret text, a_message text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    l lab_lease := lab_lock_lease(a_task, a_secret);
    t lab_task;
    now_ns bigint := lab_now();
BEGIN
    IF l.task IS NULL THEN
        RETURN 'lost';
    END IF;
    UPDATE lab_machine SET heartbeat_ns = now_ns WHERE name = l.machine;
    SELECT * INTO t FROM lab_task WHERE id = a_task;
    IF l.outcome IS NULL AND t.state <> 'done' THEN
        -- A lease that has ended was counted as a failure then.
        UPDATE lab_task SET
            state = CASE WHEN t.state <> 'leased' THEN t.state WHEN cancel THEN 'cancelled'
                WHEN attempts > retries THEN 'failed' ELSE 'waiting' END,
            message = left(a_message, 10000), ended_ns = now_ns, lease_ends_ns = NULL, prefer = NULL
            WHERE id = a_task;
        UPDATE lab_lease SET outcome = 'failed' WHERE task = a_task;
        PERFORM lab_changed(CASE WHEN t.state = 'leased' AND NOT t.cancel THEN 1 ELSE 0 END);
    END IF;
    RETURN 'held';
END
$$;

CREATE OR REPLACE FUNCTION lab_give_back(a_task bigint, a_secret text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    l lab_lease := lab_lock_lease(a_task, a_secret);
    now_ns bigint := lab_now();
BEGIN
    IF l.task IS NULL THEN
        RETURN 'lost';
    END IF;
    UPDATE lab_machine SET heartbeat_ns = now_ns WHERE name = l.machine;
    IF l.outcome IS NULL THEN
        UPDATE lab_task SET state = CASE WHEN cancel OR state = 'cancelled' THEN 'cancelled' ELSE 'waiting' END,
            attempts = greatest(attempts - 1, 0), ended_ns = now_ns, lease_ends_ns = NULL
            WHERE id = a_task AND state <> 'done';
        UPDATE lab_lease SET outcome = 'given_back' WHERE task = a_task;
        PERFORM lab_changed(0);
    END IF;
    RETURN 'held';
END
$$;

-- A machine takes no further tasks, or does again. Its owner may say so, too.
CREATE OR REPLACE FUNCTION lab_drain(a_machine text, a_draining boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    m lab_machine;
BEGIN
    SELECT * INTO m FROM lab_machine WHERE name = a_machine FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL002', MESSAGE = 'no such machine';
    END IF;
    IF m.owner <> session_user AND NOT lab_is_admin() THEN
        RAISE EXCEPTION USING ERRCODE = 'TL003', MESSAGE = 'the machine has another owner', DETAIL = m.owner;
    END IF;
    UPDATE lab_machine SET draining = a_draining WHERE name = a_machine;
    PERFORM lab_changed(0);
END
$$;

-- What follows is for tare_admin only.

CREATE OR REPLACE FUNCTION lab_forget_machine(a_machine text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    DELETE FROM lab_machine WHERE name = a_machine;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL002', MESSAGE = 'no such machine';
    END IF;
    PERFORM lab_changed(0);
END
$$;

-- The number of the campaign; that of the first time, if it is submitted again because the answer was lost.
CREATE OR REPLACE FUNCTION lab_submit(
    a_name text, a_engine text, a_doc text, a_toml text, a_folder text, a_uuids text[], a_ordinals integer[],
    a_repetitions integer[], a_not_before bigint[], a_machines text[], a_fits_names text[], a_fits_tags text[],
    a_retries integer[], a_plans text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    number bigint;
    there bigint;
BEGIN
    BEGIN
        INSERT INTO lab_campaign (uuid, name, owner, engine, created_ns, doc, toml, folder)
            VALUES (replace(gen_random_uuid()::text, '-', ''), a_name, session_user, a_engine, lab_now(), a_doc, a_toml, a_folder)
            RETURNING id INTO number;
        INSERT INTO lab_task (campaign, uuid, ordinal, repetition, not_before_ns, machine, fits_names, fits_tags, retries, plan)
            SELECT number, p.uuid, p.ordinal, p.repetition, p.not_before, p.machine, p.names::jsonb, p.tags::jsonb, p.retries,
                   p.plan
            FROM unnest(a_uuids, a_ordinals, a_repetitions, a_not_before, a_machines, a_fits_names, a_fits_tags, a_retries, a_plans)
                AS p (uuid, ordinal, repetition, not_before, machine, names, tags, retries, plan)
            ORDER BY p.ordinal;
    EXCEPTION WHEN unique_violation THEN
        SELECT t.campaign INTO there FROM lab_task AS t JOIN lab_campaign AS c ON c.id = t.campaign
            WHERE t.uuid = ANY (a_uuids) AND c.owner = session_user AND c.name = a_name
            GROUP BY t.campaign HAVING count(*) = cardinality(a_uuids);
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'TL006', MESSAGE = 'a task with one of these uuids is in another campaign';
        END IF;
        RETURN there;
    END;
    PERFORM lab_changed(0);
    RETURN number;
END
$$;

-- How many waiting tasks were cancelled. Those that are held end when their machine is heard of, or is not for too long.
CREATE OR REPLACE FUNCTION lab_cancel(a_campaign bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    cancelled_now bigint;
    told bigint;
    late bigint;
    now_ns bigint := lab_now();
BEGIN
    PERFORM FROM lab_campaign WHERE id = a_campaign FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL007', MESSAGE = 'no such campaign';
    END IF;
    PERFORM FROM lab_task WHERE campaign = a_campaign AND state IN ('waiting', 'leased') ORDER BY id FOR UPDATE;
    UPDATE lab_task SET state = 'cancelled', ended_ns = now_ns WHERE campaign = a_campaign AND state = 'waiting';
    GET DIAGNOSTICS cancelled_now = ROW_COUNT;
    UPDATE lab_task SET cancel = true WHERE campaign = a_campaign AND state = 'leased';
    GET DIAGNOSTICS told = ROW_COUNT;
    late := lab_expire(now_ns);
    IF cancelled_now + told > 0 THEN
        UPDATE lab_campaign SET cancelled = true WHERE id = a_campaign;
    END IF;
    PERFORM lab_changed(late);
    RETURN cancelled_now;
END
$$;

CREATE OR REPLACE FUNCTION lab_pause(a_campaign bigint, a_paused boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    UPDATE lab_campaign SET paused = a_paused WHERE id = a_campaign;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL007', MESSAGE = 'no such campaign';
    END IF;
    PERFORM lab_changed(0);
END
$$;

-- How many failed and cancelled tasks wait again.
CREATE OR REPLACE FUNCTION lab_retry(a_campaign bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    UPDATE lab_campaign SET cancelled = false WHERE id = a_campaign;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL007', MESSAGE = 'no such campaign';
    END IF;
    PERFORM FROM lab_task WHERE campaign = a_campaign AND state IN ('leased', 'failed', 'cancelled') ORDER BY id FOR UPDATE;
    UPDATE lab_task SET cancel = false WHERE campaign = a_campaign AND state = 'leased' AND cancel;
    UPDATE lab_task SET state = 'waiting', cancel = false, attempts = 0, ended_ns = NULL
        WHERE campaign = a_campaign AND state IN ('failed', 'cancelled');
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM lab_changed(0);
    RETURN n;
END
$$;

CREATE OR REPLACE FUNCTION lab_set_slurm(a_task bigint, a_job text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    UPDATE lab_task SET slurm = a_job WHERE id = a_task;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL001', MESSAGE = 'no such task';
    END IF;
    PERFORM lab_changed(0);
END
$$;

-- What Slurm says of a task; whether that changes it. A task that is done stays so, and one that a machine holds under a lease that
-- has not ended is no news when it is said to run.
CREATE OR REPLACE FUNCTION lab_slurm_state(a_task bigint, a_state text, a_message text, a_exclusive boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
DECLARE
    t lab_task;
    now_ns bigint := lab_now();
    holder text;
    next text := a_state;
BEGIN
    SELECT * INTO t FROM lab_task WHERE id = a_task FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TL001', MESSAGE = 'no such task';
    END IF;
    IF next = 'waiting' AND (t.cancel OR t.state = 'cancelled') THEN
        next := 'cancelled';
    END IF;
    IF t.state = 'done' OR (t.state = next AND (a_message IS NULL OR t.message = left(a_message, 10000))) THEN
        RETURN false;
    ELSIF next = 'done' THEN
        SELECT l.owner INTO holder FROM lab_lease AS l WHERE l.task = a_task;
        PERFORM lab_done(a_task, ARRAY (SELECT lab_task_runs(t.uuid, holder)), a_exclusive, holder);
    ELSE
        UPDATE lab_task SET state = next, message = coalesce(left(a_message, 10000), message),
            lease_ends_ns = CASE WHEN next = 'leased' THEN lease_ends_ns END, cancel = t.cancel OR t.state = 'cancelled',
            attempts = attempts + CASE WHEN next = 'leased' AND t.state <> 'leased' THEN 1 ELSE 0 END,
            started_ns = CASE WHEN next = 'leased' THEN coalesce(started_ns, now_ns) ELSE started_ns END,
            ended_ns = CASE WHEN next IN ('failed', 'cancelled') THEN now_ns END,
            exclusive = coalesce(a_exclusive, exclusive)
            WHERE id = a_task;
    END IF;
    PERFORM lab_changed(CASE WHEN next = 'failed' THEN 1 ELSE 0 END);
    RETURN true;
END
$$;

-- Numbers of documents are counted on by whoever adds one, and by nobody set to something else.
CREATE OR REPLACE FUNCTION lab_next_number() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, @schema, pg_temp AS $$
BEGIN
    IF NOT lab_is_admin() AND NEW.last <> (CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE OLD.last + 1 END) THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the number of a document follows the one before';
    END IF;
    RETURN NEW;
END
$$;
