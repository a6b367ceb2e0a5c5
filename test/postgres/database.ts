import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A new, empty database on the server behind `serverUrl`; returns its URL. */
export async function createDatabase(serverUrl: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await query(serverUrl, `CREATE DATABASE ${name}`);
  return onDatabase(serverUrl, name);
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await query(onDatabase(url, 'postgres'), `DROP DATABASE ${name} WITH (FORCE)`);
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

function onDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = name;
  return changed.href;
}
