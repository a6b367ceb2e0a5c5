import type pg from 'pg';
import { PostgresServers } from './drivers/postgres-servers.ts';

/**
 * The placement of each table on a Citus cluster (docs/scale.md). A user, the user's grants and everything keyed by
 * user are on one shard, so every step of the protocol is a statement on one shard. Small tables that every node
 * reads are on every server, so that a node may connect to any of them.
 */
type Placement = { readonly by: string; readonly with?: string } | { readonly placement: 'everywhere' };

export const PLACEMENTS: Readonly<Record<string, Placement>> = {
  users: { by: 'id' },
  grants: { by: 'user_id', with: 'users' },
  revoked_access_tokens: { by: 'user_id', with: 'users' },
  mail_links: { by: 'user_id', with: 'users' },
  security_events: { by: 'user_id', with: 'users' },
  user_emails: { by: 'email' },
  sign_ups: { by: 'token_hash' },
  application_creations: { by: 'owner_id' },
  sessions: { by: 'id_hash' },
  rate_windows: { by: 'key' },
  request_log: { by: 'client_id' },
  incidents: { by: 'client_id', with: 'request_log' },
  usage_hours: { by: 'client_id', with: 'request_log' },
  usage_users: { by: 'client_id', with: 'request_log' },
  retired_secrets: { placement: 'everywhere' },
  applications: { placement: 'everywhere' },
  application_secrets: { placement: 'everywhere' },
  resource_servers: { placement: 'everywhere' },
  signing_keys: { placement: 'everywhere' },
  secret_fingerprint: { placement: 'everywhere' },
  leases: { placement: 'everywhere' },
  heartbeats: { placement: 'everywhere' },
  migrations: { placement: 'everywhere' },
};

/** The statement that gives a table its placement. */
export function distribution(table: string): string {
  const placement = PLACEMENTS[table];
  if (!placement)
    throw new Error(`the table ${table} has no placement on a Citus cluster: see src/store/citus.ts`);
  if ('by' in placement)
    return `SELECT create_distributed_table('${table}', '${placement.by}', colocate_with => '${placement.with ?? 'none'}')`;
  return `SELECT create_reference_table('${table}')`;
}

export class NoCitus extends Error {
  override readonly name = 'NoCitus';
}

/** Distributes the tables that are not distributed yet; returns their names. */
export async function distribute(url: string): Promise<string[]> {
  let client: pg.Client | undefined;
  try {
    client = await new PostgresServers(url).connect({ timeoutMs: 0 });
    const citus = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`);
    if (citus.rows.length === 0) throw new NoCitus('the extension citus is not installed');
    const { rows } = await client.query<{ name: string }>(
      'SELECT logicalrelid::text AS name FROM pg_dist_partition',
    );
    const placed = new Set(rows.map(({ name }) => name));
    const distributed: string[] = [];
    for (const table of Object.keys(PLACEMENTS)) {
      const statement = distribution(table);
      if (placed.has(table)) continue;
      await client.query(statement);
      distributed.push(table);
    }
    return distributed;
  } finally {
    await client?.end().catch(() => {});
  }
}
