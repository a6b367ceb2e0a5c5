import { randomBytes } from 'node:crypto';
import type { Bulk } from './bulk.ts';
import { GRANT_COLUMNS, grantRow, USER_COLUMNS, userRow } from './contestants/postern.ts';
import { Progress } from './progress.ts';

const GRANTS_PER_USER = 4;
const USERS_PER_BATCH = 5_000;
/** Number of seeded grants that runs use later. */
const SAMPLE_SIZE = 20_000;

export type SeededGrant = { readonly userId: string; readonly grantId: string };
export type Seeded = {
  readonly sample: readonly SeededGrant[];
  readonly grants: number;
  readonly seconds: number;
};

/** Fills a database with users and grants, many rows per statement and in key order, which is fastest for a B-tree. */
export async function seed(bulk: Bulk, grants: number, label: string): Promise<Seeded> {
  const startedAt = performance.now();
  const users = newIds(Math.ceil(grants / GRANTS_PER_USER)).sort();
  const sampleEvery = Math.max(1, Math.floor(grants / SAMPLE_SIZE));
  const sample: SeededGrant[] = [];
  const progress = new Progress(Math.ceil(users.length / USERS_PER_BATCH));
  let inserted = 0;
  for (let start = 0; start < users.length; start += USERS_PER_BATCH) {
    const batch = users.slice(start, start + USERS_PER_BATCH);
    const now = Date.now();
    const grantIds = newIds(batch.length * GRANTS_PER_USER);
    const rows = batch.flatMap((userId, i) => {
      const count = Math.min(GRANTS_PER_USER, grants - inserted);
      const ids = grantIds.slice(i * GRANTS_PER_USER, i * GRANTS_PER_USER + count).sort();
      for (const grantId of ids) if (inserted++ % sampleEvery === 0) sample.push({ userId, grantId });
      return ids.map((grantId) => grantRow(userId, grantId, now));
    });
    await bulk.insert(
      'users',
      USER_COLUMNS,
      batch.map((id) => userRow(id, now)),
    );
    await bulk.insert('grants', GRANT_COLUMNS, rows);
    const rate = Math.round((inserted * 1000) / (performance.now() - startedAt));
    progress.advance(
      `${label}: ${inserted.toLocaleString('en-US')} grants, ${rate.toLocaleString('en-US')}/s`,
    );
  }
  progress.end();
  return { sample, grants, seconds: (performance.now() - startedAt) / 1000 };
}

/** Like `newId`, but with one call to the random generator, which is most of the cost. */
function newIds(count: number): string[] {
  const bytes = randomBytes(count * 16);
  return Array.from({ length: count }, (_, i) => bytes.toString('base64url', i * 16, i * 16 + 16));
}
