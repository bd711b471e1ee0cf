package database

import "strings"

// Statements are the SQL of one store. In them, clock_timestamp() is the time
// at which the row at hand is looked at: now() stands still at the start of a
// statement, which may have waited for a lock since.
type statements struct {
	get, getTogether                 string
	set, setTogether, delete         string
	add, replace, pull, compare      string
	increment                        string
	getMany, deleteMany              string
	ttl, touch, keys, clear          string
	sweepEntries, sweepLocks         string
	acquire, renew, release, waiting leaseSQL
	wasReleased                      string
	notify                           string
	table, tableStats, lockStats     string
	overdue                          string
}

// A leaseSQL is a statement in two forms, one for each clock that may judge a
// lease.
type leaseSQL struct{ server, driver string }

func newStatements(table, locks tableName) statements {
	fill := strings.NewReplacer(
		"{cache}", string(table),
		"{locks}", string(locks),
		"{live}", `(c.expiry IS NULL OR c.expiry > clock_timestamp())`,
		"{integer}", integerSQL,
		"{stamp}", `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	).Replace
	clocks := func(template, parameter string) leaseSQL {
		template = strings.ReplaceAll(template, "{left}", leftSQL)
		return leaseSQL{
			server: fill(strings.ReplaceAll(template, "{now}", "clock_timestamp()")),
			driver: fill(strings.ReplaceAll(template, "{now}", parameter+"::timestamptz")),
		}
	}
	return statements{
		get:          fill(getSQL),
		getTogether:  fill(getTogetherSQL),
		set:          fill(setSQL),
		setTogether:  fill(setTogetherSQL),
		delete:       fill(deleteSQL),
		add:          fill(addSQL),
		replace:      fill(replaceSQL),
		pull:         fill(pullSQL),
		compare:      fill(compareSQL),
		increment:    fill(incrementSQL),
		getMany:      fill(getManySQL),
		deleteMany:   fill(deleteManySQL),
		ttl:          fill(ttlSQL),
		touch:        fill(touchSQL),
		keys:         fill(keysSQL),
		clear:        fill(clearSQL),
		sweepEntries: fill(sweepEntriesSQL),
		sweepLocks:   fill(sweepLocksSQL),
		acquire:      clocks(acquireSQL, "$6"),
		renew:        clocks(renewSQL, "$5"),
		release:      clocks(releaseSQL, "$4"),
		waiting:      clocks(waitingSQL, "$4"),
		wasReleased:  fill(wasReleasedSQL),
		notify:       notifySQL,
		table:        tableSQL,
		tableStats:   tableStatsSQL,
		lockStats:    fill(lockStatsSQL),
		overdue:      fill(overdueSQL),
	}
}

// leftSQL is what a live lease has left. One without an end, which no driver
// writes, has a month less than nothing: no difference of two times counts in
// months.
const leftSQL = `CASE WHEN isfinite(l.expiry) THEN l.expiry - {now} ELSE interval '-1 month' END`

const (
	getSQL = `SELECT c.value FROM {cache} AS c WHERE c.key = $1 AND {live}`

	getTogetherSQL = `SELECT c.key, c.value FROM {cache} AS c WHERE c.key = ANY($1::text[]) AND {live}`

	setSQL = `
INSERT INTO {cache} AS c (key, value, expiry) VALUES ($1, $2, clock_timestamp() + $3::interval)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, expiry = clock_timestamp() + $3::interval`

	// The keys come sorted, so that statements lock rows in the same order. A
	// row that had to be waited for lives as long as the others.
	setTogetherSQL = `
INSERT INTO {cache} AS c (key, value, expiry)
SELECT e.key, e.value, statement_timestamp() + e.ttl
FROM unnest($1::text[], $2::bytea[], $3::interval[]) AS e (key, value, ttl)
ON CONFLICT (key) DO UPDATE SET value = excluded.value,
	expiry = excluded.expiry + (clock_timestamp() - statement_timestamp())`

	deleteSQL = `DELETE FROM {cache} AS c WHERE c.key = $1 RETURNING {live}`

	// The first look spares a live entry's row from being locked.
	addSQL = `
INSERT INTO {cache} AS c (key, value, expiry)
SELECT $1, $2::bytea, clock_timestamp() + $3::interval
WHERE NOT EXISTS (SELECT FROM {cache} AS c WHERE c.key = $1 AND {live})
ON CONFLICT (key) DO UPDATE SET value = excluded.value, expiry = clock_timestamp() + $3::interval
WHERE c.expiry <= clock_timestamp()`

	// A plain UPDATE computes its values before it waits for the row.
	replaceSQL = `
WITH held AS MATERIALIZED (SELECT c.key FROM {cache} AS c WHERE c.key = $1 AND {live} FOR UPDATE)
UPDATE {cache} AS c SET value = $2, expiry = clock_timestamp() + $3::interval
FROM held WHERE c.key = held.key AND {live}`

	pullSQL = `DELETE FROM {cache} AS c WHERE c.key = $1 AND {live} RETURNING c.value, {live}`

	compareSQL = `DELETE FROM {cache} AS c WHERE c.key = $1 AND c.value = $2 AND {live} RETURNING {live}`

	// integerSQL is the row's value as a number, NULL unless it is an integer as
	// sdk.ParseInteger reads it. No step of it fails, whatever the bytes are.
	integerSQL = `
(CASE WHEN octet_length(c.value) <= 20 AND encode(c.value, 'escape') ~ '^(0|-?[1-9][0-9]*)$'
	AND encode(c.value, 'escape')::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
	THEN encode(c.value, 'escape')::numeric END)`

	incrementSQL = `
INSERT INTO {cache} AS c (key, value, expiry)
VALUES ($1, convert_to($2::bigint::text, 'UTF8'), clock_timestamp() + $3::interval)
ON CONFLICT (key) DO UPDATE SET
	value = CASE WHEN {live} THEN convert_to(({integer} + $2)::bigint::text, 'UTF8') ELSE excluded.value END,
	expiry = CASE WHEN {live} THEN c.expiry ELSE clock_timestamp() + $3::interval END
WHERE c.expiry <= clock_timestamp() OR {integer} + $2 BETWEEN -9223372036854775808 AND 9223372036854775807
RETURNING c.value`

	// The answer stops before it outgrows $2 bytes, after the first value.
	// Values stay where they are until they are sent.
	getManySQL = `
SELECT f.found, f.place, f.value FROM (
	SELECT count(*) OVER () AS found, a.place, c.value,
		octet_length(c.value) AS size, sum(octet_length(c.value)) OVER (ORDER BY a.place) AS total
	FROM unnest($1::text[]) WITH ORDINALITY AS a (key, place) JOIN {cache} AS c ON c.key = a.key
	WHERE {live}
) AS f WHERE f.total <= $2 OR f.total = f.size ORDER BY f.place`

	deleteManySQL = `
WITH found AS MATERIALIZED (
	SELECT c.key FROM {cache} AS c WHERE c.key = ANY($1::text[]) ORDER BY c.key FOR UPDATE
), gone AS (
	DELETE FROM {cache} AS c WHERE c.key = ANY(array(SELECT key FROM found)) RETURNING {live} AS live
)
SELECT count(*) FILTER (WHERE live) FROM gone`

	ttlSQL = `SELECT CASE WHEN isfinite(c.expiry) THEN c.expiry - clock_timestamp() END FROM {cache} AS c WHERE c.key = $1 AND {live}`

	touchSQL = `
WITH held AS MATERIALIZED (SELECT c.key FROM {cache} AS c WHERE c.key = $1 AND {live} FOR UPDATE)
UPDATE {cache} AS c SET expiry = clock_timestamp() + $2::interval
FROM held WHERE c.key = held.key AND {live}`

	keysSQL = `
SELECT c.key FROM {cache} AS c
WHERE c.key >= $1 AND c.key < $2 AND {live}
ORDER BY c.key LIMIT $3`

	clearSQL = `
WITH page AS MATERIALIZED (
	SELECT c.key FROM {cache} AS c
	WHERE c.key >= $1 AND c.key < $2
	ORDER BY c.key LIMIT $3 FOR UPDATE
), gone AS (
	DELETE FROM {cache} AS c WHERE c.key = ANY(array(SELECT key FROM page)) RETURNING {live} AS live
)
SELECT (SELECT count(*) FROM page), (SELECT max(key) FROM page), (SELECT count(*) FROM gone WHERE live)`

	// now() can be looked up in an index, and it is never ahead. A row that was
	// written after the statement began is not removed, since its place is new.
	sweepEntriesSQL = `
WITH gone AS (
	DELETE FROM {cache} AS c WHERE c.expiry >= $1 AND c.expiry <= now() AND c.ctid = ANY(array(
		SELECT d.ctid FROM {cache} AS d WHERE d.expiry >= $1 AND d.expiry <= now()
		ORDER BY d.expiry LIMIT $2 FOR UPDATE SKIP LOCKED))
	RETURNING c.expiry
)
SELECT count(*), max(expiry) FROM gone`

	sweepLocksSQL = `
WITH gone AS (
	DELETE FROM {locks} AS l WHERE l.expiry >= $1 AND l.expiry <= now() - interval '24 hours' AND l.ctid = ANY(array(
		SELECT d.ctid FROM {locks} AS d WHERE d.expiry >= $1 AND d.expiry <= now() - interval '24 hours'
		ORDER BY d.expiry LIMIT $2 FOR UPDATE SKIP LOCKED))
	RETURNING l.expiry
)
SELECT count(*), max(expiry) FROM gone`
)

// The lease statements have the key as $1, the strategy as $2, the owner as $3,
// and the driver's time of day as the last parameter, if they go by its clock.
const (
	// The first look spares the row of another owner's lease from being locked,
	// and tells how long it lasts.
	acquireSQL = `
WITH other AS MATERIALIZED (
	SELECT {left} AS remaining FROM {locks} AS l
	WHERE l.key = $1 AND l.strategy = $2 AND l.owner <> $3 AND l.expiry > {now}
), mine AS (
	INSERT INTO {locks} AS l (key, strategy, owner, expiry, fence)
	SELECT $1, $2, $3, {now} + $4::interval, CASE WHEN $5 THEN {stamp} ELSE 0 END
	WHERE NOT EXISTS (SELECT FROM other)
	ON CONFLICT (key, strategy) DO UPDATE SET owner = excluded.owner, expiry = {now} + $4::interval,
		fence = CASE WHEN $5 THEN greatest(l.fence + 1, {stamp}) ELSE 0 END
	WHERE l.owner = excluded.owner OR l.expiry <= {now}
	RETURNING l.fence
)
SELECT (SELECT fence FROM mine), (SELECT remaining FROM other)`

	renewSQL = `
WITH mine AS (
	UPDATE {locks} AS l SET expiry = {now} + $4::interval
	WHERE l.key = $1 AND l.strategy = $2 AND l.owner = $3 AND l.expiry > {now}
	RETURNING l.fence
)
SELECT (SELECT fence FROM mine), (
	SELECT {left} FROM {locks} AS l
	WHERE l.key = $1 AND l.strategy = $2 AND l.owner <> $3 AND l.expiry > {now})`

	// A lock with a fence keeps its row: the fence must outlive the lease.
	releaseSQL = `
WITH kept AS (
	UPDATE {locks} AS l SET owner = '-' || l.owner, expiry = {now}
	WHERE l.key = $1 AND l.strategy = $2 AND l.owner = $3 AND l.fence > 0 AND l.expiry > {now}
	RETURNING true AS live
), gone AS (
	DELETE FROM {locks} AS l
	WHERE l.key = $1 AND l.strategy = $2 AND l.owner = $3 AND l.fence = 0
	RETURNING l.expiry > {now} AS live
)
SELECT coalesce((SELECT live FROM kept), (SELECT live FROM gone), false)`

	wasReleasedSQL = `
SELECT EXISTS (SELECT FROM {locks} AS l WHERE l.key = $1 AND l.strategy = $2 AND l.owner = '-' || $3)`

	waitingSQL = `
SELECT {left} FROM {locks} AS l
WHERE l.key = $1 AND l.strategy = $2 AND l.owner <> $3 AND l.expiry > {now}`

	// Whoever notifies holds a lock of the whole server while it commits, so the
	// commit must not wait for the disk.
	notifySQL = `
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, lock) FROM unnest($2::text[]) AS lock`
)
