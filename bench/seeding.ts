import { randomBytes } from 'node:crypto';
import type { Bulk } from './bulk.ts';
import { GRANT_COLUMNS, grantRow, USER_COLUMNS, userRow } from './contestants/postern.ts';
import { Progress } from './progress.ts';

const GRANTS_A_USER = 4;
const USERS_AT_ONCE = 5_000;
/** How many of the grants are remembered for use. */
const SAMPLE = 20_000;

export type SeededGrant = { readonly userId: string; readonly grantId: string };
export type Seeded = {
  readonly sample: readonly SeededGrant[];
  readonly grants: number;
  readonly seconds: number;
};

/**
 * Fills a database with users and grants, many rows a statement and in the order of their keys: a
 * tree that is built from one end is built as fast as the disk takes it.
 */
export async function seed(bulk: Bulk, grants: number, label: string): Promise<Seeded> {
  const startedAt = performance.now();
  const users = newIds(Math.ceil(grants / GRANTS_A_USER)).sort();
  const keptOf = Math.max(1, Math.floor(grants / SAMPLE));
  const sample: SeededGrant[] = [];
  const progress = new Progress(Math.ceil(users.length / USERS_AT_ONCE));
  let made = 0;
  for (let start = 0; start < users.length; start += USERS_AT_ONCE) {
    const some = users.slice(start, start + USERS_AT_ONCE);
    const now = Date.now();
    const fresh = newIds(some.length * GRANTS_A_USER);
    const rows = some.flatMap((userId, i) => {
      const mine = Math.min(GRANTS_A_USER, grants - made);
      const ids = fresh.slice(i * GRANTS_A_USER, i * GRANTS_A_USER + mine).sort();
      for (const grantId of ids) if (made++ % keptOf === 0) sample.push({ userId, grantId });
      return ids.map((grantId) => grantRow(userId, grantId, now));
    });
    await bulk.insert(
      'users',
      USER_COLUMNS,
      some.map((id) => userRow(id, now)),
    );
    await bulk.insert('grants', GRANT_COLUMNS, rows);
    const rate = Math.round((made * 1000) / (performance.now() - startedAt));
    progress.did(`${label}: ${made.toLocaleString('en-US')} grants, ${rate.toLocaleString('en-US')}/s`);
  }
  progress.end();
  return { sample, grants, seconds: (performance.now() - startedAt) / 1000 };
}

/** As `newId` makes them, but one request to the random generator for all: that is most of the cost. */
function newIds(count: number): string[] {
  const bytes = randomBytes(count * 16);
  return Array.from({ length: count }, (_, i) => bytes.toString('base64url', i * 16, i * 16 + 16));
}
