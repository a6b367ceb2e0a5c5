import pg from 'pg';

/** int8 as a number: times in milliseconds fit until the year 287396. Booleans as 1 and 0, like SQLite. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === 't' ? 1 : 0),
  20: Number,
};
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/** A client with Postern's settings. Nothing it does takes longer than `timeoutMs`, on either side; 0 is no limit. */
export function newClient(url: string, timeoutMs: number, connectMs: number, pipeline = false): pg.Client {
  return new pg.Client({
    connectionString: url,
    application_name: 'postern',
    connectionTimeoutMillis: connectMs,
    // The server gives up first: then it is known that nothing was changed.
    statement_timeout: Math.floor(timeoutMs * 0.8),
    idle_in_transaction_session_timeout: timeoutMs,
    // ConnectionPool has deadlines of its own.
    ...(!pipeline && timeoutMs > 0 && { query_timeout: timeoutMs }),
    keepAlive: true,
    types,
    pipeline,
  });
}

/**
 * Every statement that a request waits for finds its rows by their keys. A plan made while the tables were small
 * must not read whole tables once they have grown, nor lock rows in another order than they were sent in.
 */
const PLAN_BY_KEY = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_bitmapscan', 'jit']
  .map((name) => `SET ${name} = off;`)
  .concat('SET random_page_cost = 0;')
  .join(' ');

/**
 * Settings of a connection for the statements that requests wait for. A short lock_timeout: one locked row must not
 * stall its batch. Deadlocks are detected sooner than this.
 */
export const setUpForRequests = (timeoutMs: number): string =>
  `${PLAN_BY_KEY} SET lock_timeout = ${Math.floor(timeoutMs * 0.4)}`;

/** Destroys the stream. An orderly end would wait for a server that may be silent. */
export function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
