-- What each role may do: tare_reader reads, tare_agent also adds its own runs and documents and takes tasks, tare_admin changes
-- everything. Privileges are given to each of them, as roles are shared with the other databases of a server, where their memberships
-- may be different. Applied again by each `init`.

-- Whoever may create objects here could put them into the place of those that functions name.
REVOKE CREATE ON SCHEMA @schema FROM PUBLIC;
DO $do$
BEGIN
    IF pg_catalog.has_schema_privilege('tare_agent', pg_catalog.current_schema(), 'CREATE') THEN
        RAISE EXCEPTION USING ERRCODE = 'TL008', MESSAGE = 'the schema is open', DETAIL = pg_catalog.current_schema();
    END IF;
END
$do$;
GRANT USAGE ON SCHEMA @schema TO tare_reader, tare_agent, tare_admin;

-- A machine's instance is what one of its agents knows it by, and a lease's digest belongs to its holder.
REVOKE ALL ON lab_state, lab_campaign, lab_task, lab_lease, lab_machine, lab_rate FROM PUBLIC, tare_reader, tare_agent, tare_admin;
GRANT SELECT ON lab_state, lab_campaign, lab_task, lab_rate TO tare_reader, tare_agent, tare_admin;
GRANT SELECT (name, owner, doc, tags, state, load, draining, first_seen_ns, heartbeat_ns, lease_ns) ON lab_machine
    TO tare_reader, tare_agent, tare_admin;

-- New functions may be called by anyone, until this. The store's trigger function, too, which anyone could use for a table of their own.
DO $do$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))
            AND (p.proname LIKE 'lab\_%' OR p.proname LIKE 'tare\_%') LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, tare_reader, tare_agent, tare_admin', f);
    END LOOP;
END
$do$;
GRANT EXECUTE ON FUNCTION lab_now() TO tare_reader, tare_agent, tare_admin;
GRANT EXECUTE ON FUNCTION lab_announce, lab_take, lab_take_task, lab_heartbeat, lab_finish, lab_fail, lab_give_back, lab_drain
    TO tare_agent, tare_admin;
GRANT EXECUTE ON FUNCTION lab_submit, lab_cancel, lab_pause, lab_retry, lab_set_slurm, lab_slurm_state, lab_forget_machine
    TO tare_admin;

-- The store. What belongs to a run or a document belongs to its owner.
DO $do$
DECLARE
    t text;
    mine text;
BEGIN
    FOREACH t IN ARRAY ARRAY['host', 'run', 'run_note', 'tag', 'claim', 'sample', 'run_counted', 'daemon', 'duet', 'recording', 'document',
        'document_part', 'document_tag', 'document_claim', 'document_number', 'profile_version', 'level_history',
        'quiet_coefficients']
    LOOP
        mine := CASE
            WHEN t IN ('run', 'document') THEN 'owner = session_user'
            WHEN t IN ('run_note', 'tag', 'sample', 'daemon', 'duet', 'recording') THEN
                pg_catalog.format('EXISTS (SELECT FROM run AS r WHERE r.id = %I.run_id AND r.owner = session_user)', t)
            WHEN t IN ('document_part', 'document_tag', 'profile_version') THEN
                pg_catalog.format('EXISTS (SELECT FROM document AS d WHERE d.kind = %1$I.kind AND d.id = %1$I.id
                    AND d.owner = session_user)', t)
            -- A description is stored once for all runs that have it, so it must be what it says.
            WHEN t = 'host' THEN $$name = doc::json ->> 'name' AND machine = doc::json ->> 'machine'$$
            WHEN t = 'document_number' THEN 'true'
        END;
        EXECUTE pg_catalog.format('REVOKE ALL ON %I FROM PUBLIC, tare_reader, tare_agent, tare_admin', t);
        EXECUTE pg_catalog.format('GRANT SELECT ON %I TO tare_reader, tare_agent, tare_admin', t);
        EXECUTE pg_catalog.format('GRANT INSERT, UPDATE, DELETE ON %I TO tare_admin', t);
        EXECUTE pg_catalog.format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE pg_catalog.format('DROP POLICY IF EXISTS lab_read ON %I', t);
        EXECUTE pg_catalog.format('CREATE POLICY lab_read ON %I FOR SELECT TO tare_reader, tare_agent USING (true)', t);
        EXECUTE pg_catalog.format('DROP POLICY IF EXISTS lab_admin ON %I', t);
        EXECUTE pg_catalog.format('CREATE POLICY lab_admin ON %I TO tare_admin USING (true) WITH CHECK (true)', t);
        EXECUTE pg_catalog.format('DROP POLICY IF EXISTS lab_add ON %I', t);
        IF mine IS NOT NULL THEN
            EXECUTE pg_catalog.format('GRANT INSERT ON %I TO tare_agent', t);
            EXECUTE pg_catalog.format('CREATE POLICY lab_add ON %I FOR INSERT TO tare_agent WITH CHECK (%s)', t, mine);
        END IF;
    END LOOP;
END
$do$;

-- A run or document that is finished stays as it is; until then it may be made longer and gets its status.
GRANT UPDATE (status, plan, imported_ns) ON run TO tare_agent;
DROP POLICY IF EXISTS lab_change ON run;
CREATE POLICY lab_change ON run FOR UPDATE TO tare_agent
    USING (owner = session_user AND status <> 'finished') WITH CHECK (owner = session_user);
GRANT UPDATE (status, title, doc, imported_ns) ON document TO tare_agent;
DROP POLICY IF EXISTS lab_change ON document;
CREATE POLICY lab_change ON document FOR UPDATE TO tare_agent
    USING (owner = session_user AND status <> 'finished') WITH CHECK (owner = session_user);

GRANT SELECT ON tare_schema_version, profile TO tare_reader, tare_agent, tare_admin;
GRANT UPDATE (last) ON document_number TO tare_agent;
DROP POLICY IF EXISTS lab_change ON document_number;
CREATE POLICY lab_change ON document_number FOR UPDATE TO tare_agent USING (true);
DROP TRIGGER IF EXISTS lab_next_number ON document_number;
CREATE TRIGGER lab_next_number BEFORE INSERT OR UPDATE ON document_number
    FOR EACH ROW EXECUTE FUNCTION lab_next_number();
