import { hashClientSecret } from '../protocol/client-secret.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';

export type ResourceServer = {
  readonly id: string;
  readonly name: string;
  readonly secretHash: string;
  /** The last four characters of its secret, to tell one from another. */
  readonly secretTail: string;
  readonly createdAt: number;
};

export type NewResourceServer = Pick<ResourceServer, 'id' | 'name'> & {
  readonly secret: string;
  readonly now: number;
};

type ById = ReadonlyMap<string, ResourceServer>;

/**
 * A platform has a handful of these, so all are kept in memory until one changes. Then a check
 * of a token costs no read for its caller, and a stranger's made-up id costs none either.
 */
export class SqlResourceServers {
  readonly #driver: Driver;
  #all: Promise<ById> | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
    driver.onExternalChange(() => this.#forget());
  }

  /** From memory; a change made by any process is seen within a second. */
  async find(id: string): Promise<ResourceServer | undefined> {
    this.#all ??= this.#load();
    return (await this.#all).get(id);
  }

  async #load(): Promise<ById> {
    try {
      return new Map((await this.list()).map((one) => [one.id, one]));
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  async list(): Promise<ResourceServer[]> {
    const rows = await this.#driver.read('SELECT * FROM resource_servers ORDER BY created_at, id');
    return rows.map(resourceServerOf);
  }

  async create({ id, name, secret, now }: NewResourceServer): Promise<void> {
    await this.#change({
      sql: `INSERT INTO resource_servers (id, name, secret_hash, secret_tail, created_at)
        VALUES ($1, $2, $3, $4, $5)`,
      values: [id, name, hashClientSecret(secret), secret.slice(-4), now],
    });
  }

  async delete(id: string): Promise<boolean> {
    const sql = 'DELETE FROM resource_servers WHERE id = $1 RETURNING id';
    return (await this.#change({ sql, values: [id] })).length > 0;
  }

  async #change(statement: Statement): Promise<Row[]> {
    const [rows] = await this.#driver.transaction([statement, ...this.#driver.notifyStatements]);
    this.#forget();
    return rows!;
  }

  #forget(): void {
    this.#all = undefined;
  }
}

function resourceServerOf(row: Row): ResourceServer {
  return {
    id: row.id as string,
    name: row.name as string,
    secretHash: row.secret_hash as string,
    secretTail: row.secret_tail as string,
    createdAt: Number(row.created_at),
  };
}
