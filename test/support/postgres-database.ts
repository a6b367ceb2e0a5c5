import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A new, empty database on the server behind `serverUrl`; returns its URL. */
export async function createDatabase(serverUrl: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await query(serverUrl, `CREATE DATABASE ${name}`);
  return onDatabase(serverUrl, name);
}

export async function dropDatabase(url: string): Promise<void> {
  await query(onDatabase(url, 'postgres'), `DROP DATABASE ${nameOf(url)} WITH (FORCE)`);
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Ends all connections to the database and refuses new ones. */
export async function refuseConnections(url: string): Promise<void> {
  const name = nameOf(url);
  const server = onDatabase(url, 'postgres');
  await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await query(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
}

export async function allowConnections(url: string): Promise<void> {
  await query(onDatabase(url, 'postgres'), `ALTER DATABASE ${nameOf(url)} ALLOW_CONNECTIONS true`);
}

/** Every row of every table, as text. */
export async function everyRow(url: string): Promise<string> {
  const tables = await query(url, `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`);
  const rows = await Promise.all(
    tables.map(({ name }) => query(url, `SELECT t::text AS row FROM ${name} t`)),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n');
}

function onDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = name;
  return changed.href;
}
