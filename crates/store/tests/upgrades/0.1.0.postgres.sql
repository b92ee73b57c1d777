--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: pirssonite_is_held(bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_is_held(webhook bigint, now bigint) RETURNS boolean
    LANGUAGE sql
    AS $$
        SELECT EXISTS (
            SELECT
            FROM deliveries
            WHERE webhook_id = webhook
              AND lease_owner IS NOT NULL
              AND lease_until > now
              AND lease_until <= now + lease_ms + 60000
              AND status = 'pending'
        )
    $$;


--
-- Name: pirssonite_nonce(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_nonce() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT ('x' || right(gen_random_uuid()::text, 12))::bit(48)::bigint $$;


--
-- Name: pirssonite_now_ms(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_now_ms() RETURNS bigint
    LANGUAGE sql
    AS $$SELECT 1767268802000::bigint$$;


--
-- Name: pirssonite_remove_entries_of_feeds(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_remove_entries_of_feeds() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
BEGIN
    DELETE FROM entries USING removed WHERE entries.feed_id = removed.id;
    RETURN NULL;
END
$$;


--
-- Name: pirssonite_remove_rows_of_entries(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_remove_rows_of_entries() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
BEGIN
    DELETE FROM entry_states USING removed WHERE entry_states.entry_id = removed.id;
    DELETE FROM entry_bodies USING removed WHERE entry_bodies.entry_id = removed.id;
    DELETE FROM entry_words USING removed WHERE entry_words.entry_id = removed.id;
    RETURN NULL;
END
$$;


--
-- Name: pirssonite_want_icon(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pirssonite_want_icon() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO feed_icons (feed_id) VALUES (new.id)
    ON CONFLICT (feed_id) DO UPDATE SET due_at = least(feed_icons.due_at, feed_icons.looked_at + 86400000);
    RETURN NULL;
END;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    id bigint NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    password_hash text,
    is_admin boolean NOT NULL,
    starred_count bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    deleted_at bigint,
    page_settings text DEFAULT '{}'::text NOT NULL,
    app_sessions_ended bigint DEFAULT 0 NOT NULL
);


--
-- Name: accounts_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.accounts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.attempts (
    delivery_id bigint NOT NULL,
    place bigint NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    status bigint,
    answer text,
    error text
);


--
-- Name: change_floor; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.change_floor (
    number bigint NOT NULL
);


--
-- Name: changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes (
    number bigint NOT NULL,
    account_id bigint,
    kind text NOT NULL,
    feed_id bigint,
    count bigint NOT NULL,
    entry_ids bigint[] NOT NULL,
    at bigint NOT NULL
);


--
-- Name: changes_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.changes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deliveries (
    id bigint NOT NULL,
    event_id bigint NOT NULL,
    webhook_id bigint NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    logged bigint DEFAULT 0 NOT NULL,
    is_tried boolean DEFAULT false NOT NULL,
    next_attempt_at bigint NOT NULL,
    last_status bigint,
    last_error text,
    reason text,
    created_at bigint NOT NULL,
    ended_at bigint,
    lease_owner text,
    lease_until bigint DEFAULT 0 NOT NULL,
    lease_fence bigint DEFAULT 0 NOT NULL,
    lease_ms bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');


--
-- Name: deliveries_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.deliveries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entries (
    id bigint NOT NULL,
    feed_id bigint NOT NULL,
    identity bytea NOT NULL,
    link_trait bigint DEFAULT 0 NOT NULL,
    title_trait bigint DEFAULT 0 NOT NULL,
    fingerprint bytea NOT NULL,
    guid text NOT NULL,
    url text,
    title text,
    author text,
    published_at bigint,
    updated_at bigint,
    sort_at bigint NOT NULL,
    received_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    update_sent_at bigint DEFAULT 0 NOT NULL,
    is_thin boolean DEFAULT false NOT NULL,
    categories text DEFAULT '[]'::text NOT NULL,
    enclosures text DEFAULT '[]'::text NOT NULL,
    is_kept boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: entries_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.entries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: entry_bodies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entry_bodies (
    entry_id bigint NOT NULL,
    summary text,
    content text
);


--
-- Name: entry_states; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entry_states (
    entry_id bigint NOT NULL,
    account_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    folder_id bigint,
    sort_at bigint NOT NULL,
    received_at bigint NOT NULL,
    modified_at bigint NOT NULL,
    is_read boolean DEFAULT false NOT NULL,
    is_starred boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: entry_words; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entry_words (
    entry_id bigint NOT NULL,
    sort_at bigint NOT NULL,
    grams tsvector NOT NULL,
    words text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    id bigint NOT NULL,
    type text NOT NULL,
    created_at bigint NOT NULL,
    feed_id bigint,
    account_id bigint,
    webhook_id bigint,
    entry_id bigint,
    is_backlog boolean NOT NULL,
    feed text,
    size bigint NOT NULL,
    data text NOT NULL,
    nonce bigint DEFAULT public.pirssonite_nonce() NOT NULL
);


--
-- Name: events_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: feed_icons; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.feed_icons (
    feed_id bigint NOT NULL,
    icon_id bigint,
    due_at bigint DEFAULT 0 NOT NULL,
    looked_at bigint DEFAULT 0 NOT NULL,
    failures bigint DEFAULT 0 NOT NULL
);


--
-- Name: feeds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.feeds (
    id bigint NOT NULL,
    url text NOT NULL,
    url_hash bytea NOT NULL,
    credentials text,
    site_url text,
    title text,
    push_enabled boolean DEFAULT true NOT NULL,
    poll_interval_secs bigint,
    etag text,
    last_modified text,
    body_hash bytea,
    last_fetched_at bigint,
    next_check_at bigint NOT NULL,
    adaptive_secs bigint NOT NULL,
    ttl_mins bigint,
    skip_hours bigint DEFAULT 0 NOT NULL,
    skip_days bigint DEFAULT 0 NOT NULL,
    failure_count bigint DEFAULT 0 NOT NULL,
    last_error text,
    is_failing boolean DEFAULT false NOT NULL,
    is_gone boolean DEFAULT false NOT NULL,
    entry_count bigint DEFAULT 0 NOT NULL,
    hubs text DEFAULT '[]'::text NOT NULL,
    topic_url text,
    is_pushed boolean DEFAULT false NOT NULL,
    poll_wanted_at bigint DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_until bigint DEFAULT 0 NOT NULL,
    lease_fence bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    icon_url text,
    logo_url text
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');


--
-- Name: feeds_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.feeds ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.feeds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: figures_by_hour; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.figures_by_hour (
    account_id bigint NOT NULL,
    series bigint NOT NULL,
    hour bigint NOT NULL,
    count bigint NOT NULL
);


--
-- Name: figures_by_minute; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.figures_by_minute (
    account_id bigint NOT NULL,
    series bigint NOT NULL,
    minute bigint NOT NULL,
    backend integer NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: folders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.folders (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    name text NOT NULL,
    "position" bigint NOT NULL
);


--
-- Name: folders_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.folders ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.folders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: follows; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.follows (
    feed_id bigint NOT NULL,
    account_id bigint NOT NULL,
    folder_id bigint,
    custom_title text,
    poll_interval_secs bigint,
    push_enabled boolean DEFAULT true NOT NULL,
    unread_count bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');


--
-- Name: icons; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.icons (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    mime text NOT NULL,
    bytes bytea NOT NULL,
    found_at bigint NOT NULL
);


--
-- Name: icons_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.icons ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.icons_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: installation; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.installation (
    key text NOT NULL,
    clock_ms bigint DEFAULT 0 NOT NULL,
    picture_key text DEFAULT ''::text NOT NULL
);


--
-- Name: last_documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.last_documents (
    feed_id bigint NOT NULL,
    identities bytea NOT NULL,
    stored_at bigint NOT NULL
);


--
-- Name: maintenance; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.maintenance (
    name text NOT NULL,
    at bigint NOT NULL,
    detail text
);


--
-- Name: pruned_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pruned_entries (
    feed_id bigint NOT NULL,
    identity bytea NOT NULL,
    link_trait bigint DEFAULT 0 NOT NULL,
    title_trait bigint DEFAULT 0 NOT NULL,
    fingerprint bytea NOT NULL
);


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at bigint NOT NULL,
    checksum text NOT NULL
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    secret_hash bytea NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    address text,
    user_agent text,
    is_app boolean DEFAULT false NOT NULL
);


--
-- Name: sessions_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: subscriptions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.subscriptions (
    id bigint NOT NULL,
    feed_id bigint,
    hub_url text NOT NULL,
    topic_url text NOT NULL,
    topic_hash bytea NOT NULL,
    token text NOT NULL,
    base_url text NOT NULL,
    state text NOT NULL,
    is_current boolean NOT NULL,
    lease_secs bigint,
    expires_at bigint,
    activated_at bigint,
    verified_at bigint,
    asked text,
    verify_by bigint,
    error_count bigint DEFAULT 0 NOT NULL,
    last_error text,
    last_push_at bigint,
    push_count bigint DEFAULT 0 NOT NULL,
    miss_count bigint DEFAULT 0 NOT NULL,
    misses_in_row bigint DEFAULT 0 NOT NULL,
    secrets text DEFAULT '[]'::text NOT NULL,
    next_step_at bigint,
    retry_at bigint,
    lease_owner text,
    lease_until bigint DEFAULT 0 NOT NULL,
    lease_fence bigint DEFAULT 0 NOT NULL,
    lease_ms bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');


--
-- Name: subscriptions_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.subscriptions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    name text NOT NULL,
    scope text NOT NULL,
    secret_hash bytea NOT NULL,
    fever_hash bytea NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    expires_at bigint
);


--
-- Name: tokens_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    url text NOT NULL,
    description text,
    enabled boolean NOT NULL,
    event_types text,
    feed_ids text,
    folder_ids text,
    headers text DEFAULT '[]'::text NOT NULL,
    include_content boolean NOT NULL,
    backlog boolean NOT NULL,
    secret text NOT NULL,
    old_secrets text DEFAULT '[]'::text NOT NULL,
    failures bigint DEFAULT 0 NOT NULL,
    failing_since bigint,
    failed_at bigint,
    probe_at bigint,
    probe_new_at bigint,
    probes bigint DEFAULT 0 NOT NULL,
    held_until bigint,
    rate_per_second bigint,
    rate_at double precision DEFAULT 0 NOT NULL,
    disabled_reason text,
    created_at bigint NOT NULL,
    deleted_at bigint
)
WITH (fillfactor='50');


--
-- Name: webhooks_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.webhooks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhooks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts OVERRIDING SYSTEM VALUE VALUES (1, 'reader', 'reader', NULL, true, 1, 1795125894548, NULL, '{}', 0);
INSERT INTO public.accounts OVERRIDING SYSTEM VALUE VALUES (2, 'ann', 'ann', NULL, false, 0, 1767268801000, NULL, '{}', 0);


--
-- Data for Name: attempts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.attempts VALUES (1, 1, 1, 1767268800980, 20, 200, 'an answer', NULL);
INSERT INTO public.attempts VALUES (2, 1, 1, 1767268800980, 20, 500, 'an answer', '500 Internal Server Error');


--
-- Data for Name: change_floor; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.change_floor VALUES (0);


--
-- Data for Name: changes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (2, 1, 'webhooks', NULL, 0, '{}', 1767268800000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (3, NULL, 'subscription', 1, 0, '{}', 1767268800000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (4, 1, 'feeds', 1, 1, '{}', 1767268800000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (5, NULL, 'subscription', 1, 0, '{}', 1767268800000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (6, NULL, 'deliveries', NULL, 0, '{}', 1767268800000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (7, NULL, 'entries', 1, 2, '{1,2}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (8, NULL, 'deliveries', NULL, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (9, NULL, 'entries', 1, 1, '{1}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (10, NULL, 'deliveries', NULL, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (11, 1, 'marks', 1, 1, '{2}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (12, 2, 'feeds', 1, 1, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (13, NULL, 'entries', 2, 1, '{3}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (14, NULL, 'deliveries', NULL, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (15, 1, 'feeds', 2, 1, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (16, 1, 'feeds', NULL, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (17, NULL, 'feed', 1, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (18, NULL, 'feed', 2, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (19, NULL, 'entries', 3, 2, '{4,5}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (20, NULL, 'deliveries', NULL, 0, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (21, 1, 'feeds', 3, 1, '{}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (22, 1, 'marks', 3, 2, '{4,5}', 1767268801000);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES (23, NULL, 'entries', NULL, 4, '{}', 1767268802000);


--
-- Data for Name: deliveries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (3, 3, 1, 'pending', 0, 0, false, 1767268801000, NULL, NULL, NULL, 1767268801000, NULL, NULL, 0, 0, 0);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (4, 4, 1, 'pending', 0, 0, false, 1767268801000, NULL, NULL, NULL, 1767268801000, NULL, NULL, 0, 0, 0);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (5, 5, 1, 'pending', 0, 0, false, 1767268801000, NULL, NULL, NULL, 1767268801000, NULL, NULL, 0, 0, 0);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'delivered', 1, 1, true, 1767268800000, 200, NULL, NULL, 1767268800000, 1767268801000, NULL, 0, 2, 10000);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (2, 2, 1, 'pending', 1, 1, true, 1767268861000, 500, '500 Internal Server Error', NULL, 1767268801000, NULL, NULL, 0, 2, 10000);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (6, 6, 1, 'pending', 0, 0, false, 1767268801000, NULL, NULL, NULL, 1767268801000, NULL, NULL, 0, 0, 0);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (7, 7, 1, 'pending', 0, 0, false, 1767268801000, NULL, NULL, NULL, 1767268801000, NULL, NULL, 0, 0, 0);


--
-- Data for Name: entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entries OVERRIDING SYSTEM VALUE VALUES (2, 1, '\xb77f399d988cdaefde8935e45fe96dc7', 0, 0, '\xb77f399d988cdaefde8935e45fe96dc7', 'pushed', NULL, 'pushed', NULL, NULL, NULL, 1767268801000, 1767268801000, 1767268801000, 0, false, '[]', '[]', false);
INSERT INTO public.entries OVERRIDING SYSTEM VALUE VALUES (1, 1, '\xd67e2e944994496c8d8ec76eed0cf9f0', 0, 0, '\x629f49dc4604bfc0e5b463947bf12913', 'changed', NULL, 'once more', NULL, NULL, NULL, 1767268801000, 1767268801000, 1767268801000, 1767268801000, false, '[]', '[]', false);
INSERT INTO public.entries OVERRIDING SYSTEM VALUE VALUES (3, 2, '\xd9298a10d1b0735837dc4bd85dac641b', 0, 0, '\xd9298a10d1b0735837dc4bd85dac641b', 'other', NULL, 'other', NULL, NULL, NULL, 1767268801000, 1767268801000, 1767268801000, 0, false, '[]', '[]', false);
INSERT INTO public.entries OVERRIDING SYSTEM VALUE VALUES (4, 3, '\x79f076abdd19a752db7267bfff2f9022', 0, 0, '\x79f076abdd19a752db7267bfff2f9022', 'kept', NULL, 'kept', NULL, NULL, NULL, 1767268801000, 1767268801000, 1767268801000, 0, false, '[]', '[]', true);


--
-- Data for Name: entry_bodies; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entry_bodies VALUES (2, NULL, '<p>pushed</p>');
INSERT INTO public.entry_bodies VALUES (1, NULL, '<p>once more</p>');
INSERT INTO public.entry_bodies VALUES (3, NULL, '<p>other</p>');
INSERT INTO public.entry_bodies VALUES (4, NULL, '<p>kept</p>');


--
-- Data for Name: entry_states; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entry_states VALUES (1, 1, 1, NULL, 1767268801000, 1767268801000, 1767268801000, false, false);
INSERT INTO public.entry_states VALUES (2, 1, 1, NULL, 1767268801000, 1767268801000, 1767268801000, true, true);
INSERT INTO public.entry_states VALUES (3, 1, 2, NULL, 1767268801000, 1767268801000, 1767268801000, false, false);


--
-- Data for Name: entry_words; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entry_words VALUES (2, 1767268801000, '''pushed''', ' pushed ');
INSERT INTO public.entry_words VALUES (1, 1767268801000, '''more'' ''once''', ' once more ');
INSERT INTO public.entry_words VALUES (3, 1767268801000, '''other''', ' other ');
INSERT INTO public.entry_words VALUES (4, 1767268801000, '''kept''', ' kept ');


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.events VALUES (1, 'subscription.activated', 1767268800000, 1, NULL, NULL, NULL, false, '{"id":1,"url":"https://e.org/feed","title":"Title"}', 258, '{"subscription":{"feedId":1,"hubUrl":"https://hub.org/","topicUrl":"https://e.org/topic","state":"active","isActive":true,"leaseSeconds":864000,"expiresAt":"2026-01-11T12:00:00Z","errorCount":0,"lastError":null,"lastPushAt":null,"pushCount":0,"missCount":0}}', 72443911946493);
INSERT INTO public.events VALUES (2, 'entry.created', 1767268801000, 1, NULL, NULL, 1, false, '{"id":1,"url":"https://e.org/feed","title":"Title"}', 274, '{"entry":{"id":1,"feedId":1,"guid":"changed","url":null,"title":"東京 bread","author":null,"summary":null,"content":"<p>東京 bread</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 172041993695956);
INSERT INTO public.events VALUES (3, 'entry.created', 1767268801000, 1, NULL, NULL, 2, false, '{"id":1,"url":"https://e.org/feed","title":"Title"}', 261, '{"entry":{"id":2,"feedId":1,"guid":"pushed","url":null,"title":"pushed","author":null,"summary":null,"content":"<p>pushed</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 226888196375554);
INSERT INTO public.events VALUES (4, 'entry.updated', 1767268801000, 1, NULL, NULL, 1, false, '{"id":1,"url":"https://e.org/feed","title":"Title"}', 268, '{"entry":{"id":1,"feedId":1,"guid":"changed","url":null,"title":"once more","author":null,"summary":null,"content":"<p>once more</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 223125085469636);
INSERT INTO public.events VALUES (5, 'entry.created', 1767268801000, 2, NULL, NULL, 3, true, '{"id":2,"url":"https://e.org/other","title":"Title"}', 258, '{"entry":{"id":3,"feedId":2,"guid":"other","url":null,"title":"other","author":null,"summary":null,"content":"<p>other</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 211759838044257);
INSERT INTO public.events VALUES (6, 'entry.created', 1767268801000, 3, NULL, NULL, 4, true, '{"id":3,"url":"https://e.org/pruned","title":"Title"}', 255, '{"entry":{"id":4,"feedId":3,"guid":"kept","url":null,"title":"kept","author":null,"summary":null,"content":"<p>kept</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 25572788147104);
INSERT INTO public.events VALUES (7, 'entry.created', 1767268801000, 3, NULL, NULL, 5, true, '{"id":3,"url":"https://e.org/pruned","title":"Title"}', 261, '{"entry":{"id":5,"feedId":3,"guid":"pruned","url":null,"title":"pruned","author":null,"summary":null,"content":"<p>pruned</p>","publishedAt":null,"updatedAt":null,"sortAt":"2026-01-01T12:00:01Z","isRead":false,"isStarred":false,"categories":[],"enclosures":[]}}', 15302619128067);


--
-- Data for Name: feed_icons; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.feed_icons VALUES (1, 1, 1767873601000, 1767268801000, 0);
INSERT INTO public.feed_icons VALUES (2, 1, 1767873601000, 1767268801000, 0);
INSERT INTO public.feed_icons VALUES (3, NULL, 0, 0, 0);


--
-- Data for Name: feeds; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.feeds OVERRIDING SYSTEM VALUE VALUES (2, 'https://e.org/other', '\x4d7adb2fba6ee6f73d48d6df06463235', NULL, NULL, 'Title', true, NULL, NULL, NULL, NULL, 1767268801000, 1767272401000, 3600, NULL, 0, 0, 0, NULL, false, false, 1, '[]', NULL, false, 0, NULL, 0, 0, 1767268801000, NULL, NULL);
INSERT INTO public.feeds OVERRIDING SYSTEM VALUE VALUES (1, 'https://e.org/feed', '\x67be3d4f41ba00c054549479b6a6850a', NULL, NULL, 'Title', true, NULL, NULL, NULL, NULL, 1767268801000, 1767272401000, 3600, NULL, 0, 0, 1, 'no', false, false, 2, '["https://hub.org/"]', 'https://e.org/topic', true, 0, NULL, 0, 2, 1767268800000, NULL, NULL);
INSERT INTO public.feeds OVERRIDING SYSTEM VALUE VALUES (3, 'https://e.org/pruned', '\x852685725d5eecf429de6b3fa4fb1192', NULL, NULL, 'Title', true, NULL, NULL, NULL, NULL, 1767268801000, 1767272401000, 3600, NULL, 0, 0, 0, NULL, false, false, 0, '[]', NULL, false, 0, NULL, 0, 1, 1767268801000, NULL, NULL);


--
-- Data for Name: figures_by_hour; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.figures_by_hour VALUES (0, 21, 1, 2);


--
-- Data for Name: figures_by_minute; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.figures_by_minute VALUES (0, 21, 29454480, 18684, 2);
INSERT INTO public.figures_by_minute VALUES (0, 32, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (0, 13, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (0, 1, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (1, 1, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (0, 2, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (0, 107, 29454480, 18684, 2);
INSERT INTO public.figures_by_minute VALUES (1, 2, 29454480, 18684, 1);
INSERT INTO public.figures_by_minute VALUES (1, 107, 29454480, 18684, 2);
INSERT INTO public.figures_by_minute VALUES (0, 11, 29454480, 18684, 2);
INSERT INTO public.figures_by_minute VALUES (0, 31, 29454480, 18684, 5);
INSERT INTO public.figures_by_minute VALUES (0, 12, 29454480, 18684, 3);


--
-- Data for Name: folders; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.folders OVERRIDING SYSTEM VALUE VALUES (1, 1, 'Daily', 0);


--
-- Data for Name: follows; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.follows VALUES (1, 1, NULL, NULL, NULL, true, 1, 1767268800000);
INSERT INTO public.follows VALUES (1, 2, NULL, NULL, NULL, true, 0, 1767268801000);
INSERT INTO public.follows VALUES (2, 1, NULL, NULL, NULL, true, 1, 1767268801000);
INSERT INTO public.follows VALUES (3, 1, NULL, NULL, NULL, true, 0, 1767268801000);


--
-- Data for Name: icons; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.icons OVERRIDING SYSTEM VALUE VALUES (1, '\x6edd8b41832c7ad4db71de12bb189313', 'image/png', '\x89504e470d0a1a0a0000000d49484452000000200000002001', 1767268801000);


--
-- Data for Name: installation; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.installation VALUES ('592355b73d53', 0, 'fb5d754fef964616b9e913a514e5997700ab3eab598d40aaa468acfec0afa1f7');


--
-- Data for Name: last_documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.last_documents VALUES (1, '\x', 1767268801000);
INSERT INTO public.last_documents VALUES (2, '\xd9298a10d1b0735837dc4bd85dac641b', 1767268801000);
INSERT INTO public.last_documents VALUES (3, '\x79f076abdd19a752db7267bfff2f9022', 1767268801000);


--
-- Data for Name: maintenance; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.maintenance VALUES ('backup', 1, NULL);


--
-- Data for Name: pruned_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pruned_entries VALUES (3, '\x0fedead8d392392e76e93c4dba310b58', 0, 0, '\x0fedead8d392392e76e93c4dba310b58');


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schema_migrations VALUES (1, '0001_accounts', 1795125894515, '49424316f94f9d683f5b715a63fe8a36');
INSERT INTO public.schema_migrations VALUES (2, '0002_feeds_and_entries', 1795125894528, '5c19727568ee12029a76036e66ecbf9b');
INSERT INTO public.schema_migrations VALUES (3, '0003_subscriptions', 1795125894531, '60fc29abb27bc8f0a3062f1269663265');
INSERT INTO public.schema_migrations VALUES (4, '0004_outbox', 1795125894537, '9b70a27dabde9501774471243a80b9ad');
INSERT INTO public.schema_migrations VALUES (5, '0005_changes', 1795125894538, 'd6a5988533aa1bddb76c2d1725332d37');
INSERT INTO public.schema_migrations VALUES (6, '0006_stats', 1795125894540, '9cb25fa457627fb8f5431af2d70416c4');
INSERT INTO public.schema_migrations VALUES (7, '0007_icons_and_page_settings', 1795125894543, '7fa950fad4a8b5902b4a33ccf6a93b97');
INSERT INTO public.schema_migrations VALUES (8, '0008_received_order', 1795125894544, '22ee953fa51153bfb5e5b0ca9ab136fc');
INSERT INTO public.schema_migrations VALUES (9, '0009_entries_by_id', 1795125894545, 'f5a8454ebd3d157cd541bd036412a5f6');
INSERT INTO public.schema_migrations VALUES (10, '0010_event_nonces', 1795125894545, 'a61de27feda676d2cd6d094f28bca5d1');
INSERT INTO public.schema_migrations VALUES (11, '0011_maintenance', 1795125894546, 'c73d690d89cc9332257f286c2fa57641');
INSERT INTO public.schema_migrations VALUES (12, '0012_marks_by_id', 1795125894547, '72dc52d41b8d5fff52d93c8a0dd547aa');
INSERT INTO public.schema_migrations VALUES (13, '0013_app_sessions', 1795125894547, '59efab643c64c3952a0b0b4f223bcd71');
INSERT INTO public.schema_migrations VALUES (14, '0014_kept_entries', 1795125894548, '39d09b7112526be4773a41df019e9a02');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.sessions OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x0101010101010101010101010101010101010101010101010101010101010101', 1767268801000, 1767268801000, '192.0.2.1', 'a browser', false);


--
-- Data for Name: subscriptions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.subscriptions OVERRIDING SYSTEM VALUE VALUES (1, 1, 'https://hub.org/', 'https://e.org/topic', '\xad191771719fab09dc8f6690b1797c6d', 'token', 'https://we.org', 'active', true, 864000, 1768132800000, 1767268800000, 1767268800000, NULL, NULL, 0, NULL, 1767268801000, 2, 0, 0, '[{"value":"token","is_proven":true}]', 1767960000000, NULL, NULL, 0, 0, 0, 1767268800000);


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens OVERRIDING SYSTEM VALUE VALUES (1, 1, 'token 2', 'write', '\x0202020202020202020202020202020202020202020202020202020202020202', '\x6666666666666666666666666666666666666666666666666666666666666666', 1767268801000, NULL, NULL);


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhooks OVERRIDING SYSTEM VALUE VALUES (1, 1, 'https://e.org/hook', NULL, true, NULL, NULL, NULL, '[]', true, true, 'whsec_AAAmpyz0', '[]', 1, 1767268801000, 1767268801000, NULL, NULL, 0, NULL, NULL, 0, NULL, 1767268800000, NULL);


--
-- Name: accounts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.accounts_id_seq', 2, true);


--
-- Name: changes_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.changes_number_seq', 23, true);


--
-- Name: deliveries_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.deliveries_id_seq', 7, true);


--
-- Name: entries_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.entries_id_seq', 5, true);


--
-- Name: events_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.events_id_seq', 7, true);


--
-- Name: feeds_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.feeds_id_seq', 3, true);


--
-- Name: folders_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.folders_id_seq', 1, true);


--
-- Name: icons_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.icons_id_seq', 2, true);


--
-- Name: sessions_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.sessions_id_seq', 1, true);


--
-- Name: subscriptions_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.subscriptions_id_seq', 1, true);


--
-- Name: tokens_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tokens_id_seq', 1, true);


--
-- Name: webhooks_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.webhooks_id_seq', 1, true);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (delivery_id, place);


--
-- Name: changes changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (number);


--
-- Name: deliveries deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);


--
-- Name: entries entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (id);


--
-- Name: entry_bodies entry_bodies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry_bodies
    ADD CONSTRAINT entry_bodies_pkey PRIMARY KEY (entry_id);


--
-- Name: entry_states entry_states_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry_states
    ADD CONSTRAINT entry_states_pkey PRIMARY KEY (entry_id, account_id);


--
-- Name: entry_words entry_words_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry_words
    ADD CONSTRAINT entry_words_pkey PRIMARY KEY (entry_id);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);


--
-- Name: feed_icons feed_icons_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed_icons
    ADD CONSTRAINT feed_icons_pkey PRIMARY KEY (feed_id);


--
-- Name: feeds feeds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_pkey PRIMARY KEY (id);


--
-- Name: feeds feeds_url_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_url_hash_key UNIQUE (url_hash);


--
-- Name: figures_by_hour figures_by_hour_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.figures_by_hour
    ADD CONSTRAINT figures_by_hour_pkey PRIMARY KEY (account_id, series, hour);


--
-- Name: figures_by_minute figures_by_minute_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.figures_by_minute
    ADD CONSTRAINT figures_by_minute_pkey PRIMARY KEY (account_id, series, minute, backend);


--
-- Name: folders folders_account_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.folders
    ADD CONSTRAINT folders_account_id_name_key UNIQUE (account_id, name);


--
-- Name: folders folders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.folders
    ADD CONSTRAINT folders_pkey PRIMARY KEY (id);


--
-- Name: follows follows_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_pkey PRIMARY KEY (feed_id, account_id);


--
-- Name: icons icons_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.icons
    ADD CONSTRAINT icons_hash_key UNIQUE (hash);


--
-- Name: icons icons_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.icons
    ADD CONSTRAINT icons_pkey PRIMARY KEY (id);


--
-- Name: last_documents last_documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.last_documents
    ADD CONSTRAINT last_documents_pkey PRIMARY KEY (feed_id);


--
-- Name: maintenance maintenance_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.maintenance
    ADD CONSTRAINT maintenance_pkey PRIMARY KEY (name);


--
-- Name: pruned_entries pruned_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pruned_entries
    ADD CONSTRAINT pruned_entries_pkey PRIMARY KEY (feed_id, identity, link_trait, title_trait, fingerprint);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);


--
-- Name: sessions sessions_secret_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_secret_hash_key UNIQUE (secret_hash);


--
-- Name: subscriptions subscriptions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);


--
-- Name: subscriptions subscriptions_token_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_token_key UNIQUE (token);


--
-- Name: tokens tokens_fever_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_fever_hash_key UNIQUE (fever_hash);


--
-- Name: tokens tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);


--
-- Name: tokens tokens_secret_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_secret_hash_key UNIQUE (secret_hash);


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);


--
-- Name: accounts_by_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX accounts_by_name ON public.accounts USING btree (name_key) WHERE (deleted_at IS NULL);


--
-- Name: accounts_removed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_removed ON public.accounts USING btree (id) WHERE (deleted_at IS NOT NULL);


--
-- Name: deliveries_by_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_by_status ON public.deliveries USING btree (webhook_id, status, id);


--
-- Name: deliveries_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_due ON public.deliveries USING btree (webhook_id, is_tried, next_attempt_at, id) WHERE (status = 'pending'::text);


--
-- Name: deliveries_held; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_held ON public.deliveries USING btree (webhook_id) WHERE (lease_owner IS NOT NULL);


--
-- Name: deliveries_of_event; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX deliveries_of_event ON public.deliveries USING btree (event_id, webhook_id);


--
-- Name: entries_by_identity; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX entries_by_identity ON public.entries USING btree (feed_id, identity);


--
-- Name: entries_kept; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX entries_kept ON public.entries USING btree (feed_id) WHERE is_kept;


--
-- Name: entries_of_feed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX entries_of_feed ON public.entries USING btree (feed_id, sort_at DESC, id DESC);


--
-- Name: entries_received; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX entries_received ON public.entries USING btree (feed_id, id);


--
-- Name: entry_words_by_gram; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX entry_words_by_gram ON public.entry_words USING gin (grams);


--
-- Name: events_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_by_time ON public.events USING btree (created_at, id);


--
-- Name: feed_icons_by_icon; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feed_icons_by_icon ON public.feed_icons USING btree (icon_id) WHERE (icon_id IS NOT NULL);


--
-- Name: feed_icons_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feed_icons_due ON public.feed_icons USING btree (due_at, feed_id);


--
-- Name: feeds_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feeds_due ON public.feeds USING btree (next_check_at, id) WHERE (NOT is_gone);


--
-- Name: feeds_failing; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feeds_failing ON public.feeds USING btree (failure_count, is_gone) WHERE ((failure_count > 0) AND (NOT is_gone));


--
-- Name: feeds_gone; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feeds_gone ON public.feeds USING btree (is_gone) WHERE is_gone;


--
-- Name: feeds_pushed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feeds_pushed ON public.feeds USING btree (is_pushed) WHERE is_pushed;


--
-- Name: figures_by_hour_by_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX figures_by_hour_by_age ON public.figures_by_hour USING btree (hour);


--
-- Name: figures_by_minute_by_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX figures_by_minute_by_age ON public.figures_by_minute USING btree (minute);


--
-- Name: follows_of_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX follows_of_account ON public.follows USING btree (account_id, feed_id);


--
-- Name: follows_of_folder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX follows_of_folder ON public.follows USING btree (folder_id) WHERE (folder_id IS NOT NULL);


--
-- Name: sessions_by_use; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_by_use ON public.sessions USING btree (last_used_at);


--
-- Name: sessions_of_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_account ON public.sessions USING btree (account_id);


--
-- Name: states_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_by_id ON public.entry_states USING btree (account_id, entry_id);


--
-- Name: states_modified; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_modified ON public.entry_states USING btree (account_id, modified_at, entry_id);


--
-- Name: states_newest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_newest ON public.entry_states USING btree (account_id, sort_at DESC, entry_id DESC);


--
-- Name: states_of_folder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_of_folder ON public.entry_states USING btree (account_id, folder_id, sort_at DESC, entry_id DESC) WHERE (folder_id IS NOT NULL);


--
-- Name: states_prunable; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_prunable ON public.entry_states USING btree (is_read, received_at) WHERE (NOT is_starred);


--
-- Name: states_prunable_of_feed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_prunable_of_feed ON public.entry_states USING btree (feed_id, sort_at DESC, entry_id DESC) WHERE (is_read AND (NOT is_starred));


--
-- Name: states_received; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_received ON public.entry_states USING btree (account_id, received_at, entry_id);


--
-- Name: states_received_of_folder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_received_of_folder ON public.entry_states USING btree (account_id, folder_id, received_at, entry_id) WHERE (folder_id IS NOT NULL);


--
-- Name: states_starred; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_starred ON public.entry_states USING btree (account_id, sort_at DESC, entry_id DESC) WHERE is_starred;


--
-- Name: states_starred_received; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_starred_received ON public.entry_states USING btree (account_id, received_at, entry_id) WHERE is_starred;


--
-- Name: states_unread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread ON public.entry_states USING btree (account_id, sort_at DESC, entry_id DESC) WHERE (NOT is_read);


--
-- Name: states_unread_of_feed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread_of_feed ON public.entry_states USING btree (account_id, feed_id, sort_at DESC, entry_id DESC) WHERE (NOT is_read);


--
-- Name: states_unread_of_folder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread_of_folder ON public.entry_states USING btree (account_id, folder_id, sort_at DESC, entry_id DESC) WHERE ((NOT is_read) AND (folder_id IS NOT NULL));


--
-- Name: states_unread_received; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread_received ON public.entry_states USING btree (account_id, received_at, entry_id) WHERE (NOT is_read);


--
-- Name: states_unread_received_of_feed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread_received_of_feed ON public.entry_states USING btree (account_id, feed_id, received_at, entry_id) WHERE (NOT is_read);


--
-- Name: states_unread_received_of_folder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX states_unread_received_of_folder ON public.entry_states USING btree (account_id, folder_id, received_at, entry_id) WHERE ((NOT is_read) AND (folder_id IS NOT NULL));


--
-- Name: subscriptions_by_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_by_state ON public.subscriptions USING btree (state);


--
-- Name: subscriptions_by_topic; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_by_topic ON public.subscriptions USING btree (topic_hash);


--
-- Name: subscriptions_current; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX subscriptions_current ON public.subscriptions USING btree (feed_id) WHERE is_current;


--
-- Name: subscriptions_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_due ON public.subscriptions USING btree (next_step_at, id) WHERE (next_step_at IS NOT NULL);


--
-- Name: subscriptions_due_by_hub; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_due_by_hub ON public.subscriptions USING btree (md5(hub_url), next_step_at, id) WHERE (next_step_at IS NOT NULL);


--
-- Name: subscriptions_expiring; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_expiring ON public.subscriptions USING btree (expires_at, id) WHERE (state = 'active'::text);


--
-- Name: subscriptions_of_feed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX subscriptions_of_feed ON public.subscriptions USING btree (feed_id);


--
-- Name: tokens_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tokens_by_end ON public.tokens USING btree (expires_at) WHERE (expires_at IS NOT NULL);


--
-- Name: tokens_of_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tokens_of_account ON public.tokens USING btree (account_id);


--
-- Name: webhooks_of_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhooks_of_account ON public.webhooks USING btree (account_id, id);


--
-- Name: entries entries_remove_rows; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER entries_remove_rows AFTER DELETE ON public.entries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.pirssonite_remove_rows_of_entries();


--
-- Name: feeds feeds_remove_entries; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER feeds_remove_entries AFTER DELETE ON public.feeds REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.pirssonite_remove_entries_of_feeds();


--
-- Name: feeds feeds_want_icons; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER feeds_want_icons AFTER UPDATE OF url, site_url, icon_url, logo_url, last_fetched_at ON public.feeds FOR EACH ROW WHEN (((new.last_fetched_at IS NOT NULL) AND ((old.last_fetched_at IS NULL) OR ((((new.url IS DISTINCT FROM old.url) OR (new.site_url IS DISTINCT FROM old.site_url)) OR (new.icon_url IS DISTINCT FROM old.icon_url)) OR (new.logo_url IS DISTINCT FROM old.logo_url))))) EXECUTE FUNCTION public.pirssonite_want_icon();


--
-- Name: feed_icons feed_icons_feed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed_icons
    ADD CONSTRAINT feed_icons_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(id) ON DELETE CASCADE;


--
-- Name: follows follows_feed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(id) ON DELETE CASCADE;


--
-- Name: follows follows_folder_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follows
    ADD CONSTRAINT follows_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES public.folders(id) ON DELETE SET NULL;


--
-- Name: last_documents last_documents_feed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.last_documents
    ADD CONSTRAINT last_documents_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(id) ON DELETE CASCADE;


--
-- Name: pruned_entries pruned_entries_feed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pruned_entries
    ADD CONSTRAINT pruned_entries_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(id) ON DELETE CASCADE;


--
-- Name: subscriptions subscriptions_feed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(id) ON DELETE SET NULL;


--
-- PostgreSQL database dump complete
--


