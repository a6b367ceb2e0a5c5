import { hashClientSecret } from '../protocol/client-secret.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { number, type ObjectOf, placeholders, text, WritableRowType } from './row-type.ts';

const RESOURCE_SERVER = new WritableRowType({
  id: text('id'),
  name: text('name'),
  secretHash: text('secret_hash'),
  /** The last four characters, by which the operator recognises the secret. */
  secretTail: text('secret_tail'),
  createdAt: number('created_at'),
});

/** One of the platform's own APIs. */
export type ResourceServer = ObjectOf<typeof RESOURCE_SERVER>;

type NewResourceServer = Pick<ResourceServer, 'id' | 'name'> & {
  readonly secret: string;
  readonly now: number;
};

/** Names a change in the notification to other nodes. */
const SUBJECT = 'resource servers';

type ById = ReadonlyMap<string, ResourceServer>;

/**
 * A platform has a handful of these, so all are cached until one changes. Introspection then reads nothing to
 * authenticate its caller, and a made-up id costs no read either.
 */
export class SqlResourceServers {
  readonly #driver: Driver;
  #cache: Promise<ById> | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
    driver.onExternalChange((subject = SUBJECT) => {
      if (subject === SUBJECT) this.#clearCache();
    });
  }

  /** Cached; a change made by any process is seen within a second. */
  async find(id: string): Promise<ResourceServer | undefined> {
    this.#cache ??= this.#load();
    return (await this.#cache).get(id);
  }

  async #load(): Promise<ById> {
    try {
      return new Map((await this.list()).map((server) => [server.id, server]));
    } catch (error) {
      this.#clearCache();
      throw error;
    }
  }

  async list(): Promise<ResourceServer[]> {
    const sql = `SELECT ${RESOURCE_SERVER.columns} FROM resource_servers ORDER BY created_at, id`;
    return (await this.#driver.read(sql)).map((row) => RESOURCE_SERVER.read(row));
  }

  async create({ id, name, secret, now }: NewResourceServer): Promise<void> {
    const secretHash = hashClientSecret(secret);
    const values = RESOURCE_SERVER.write({
      id,
      name,
      secretHash,
      secretTail: secret.slice(-4),
      createdAt: now,
    });
    await this.#change({
      sql: `INSERT INTO resource_servers (${RESOURCE_SERVER.columns}) VALUES (${placeholders(values.length)})`,
      values,
    });
  }

  async delete(id: string): Promise<boolean> {
    const sql = 'DELETE FROM resource_servers WHERE id = $1 RETURNING id';
    return (await this.#change({ sql, values: [id] })).length > 0;
  }

  async #change(statement: Statement): Promise<Row[]> {
    const [rows] = await this.#driver.transaction([statement, ...this.#driver.notifyStatements(SUBJECT)]);
    this.#clearCache();
    return rows!;
  }

  #clearCache(): void {
    this.#cache = undefined;
  }
}
