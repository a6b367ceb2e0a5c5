import type { Driver } from './drivers/driver.ts';

/** Requests of one hour with one result. */
export type UsageHour = {
  readonly clientId: string;
  readonly hour: number;
  /** Empty for a success. */
  readonly reason: string;
  readonly requests: number;
  /** How much of the limit was used at most. */
  readonly peak: number;
};

/** One register of a day's sketch of its users (src/protocol/distinct-count.ts). */
export type UserRegister = {
  readonly clientId: string;
  readonly day: number;
  readonly register: number;
  readonly value: number;
};

const ADD_HOUR = `
  INSERT INTO usage_hours (client_id, hour, reason, requests, peak) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (client_id, hour, reason) DO UPDATE SET
    requests = usage_hours.requests + excluded.requests,
    peak = CASE WHEN excluded.peak > usage_hours.peak THEN excluded.peak ELSE usage_hours.peak END`;

const RAISE_REGISTER = `
  INSERT INTO usage_users (client_id, day, register, value) VALUES ($1, $2, $3, $4)
  ON CONFLICT (client_id, day, register) DO UPDATE SET value = excluded.value
    WHERE excluded.value > usage_users.value`;

/** Statements on their way at a time: what else the database has to do comes in between. */
const AT_ONCE = 50;

/** Counts that all nodes add to. */
export class SqlUsage {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async addHours(hours: readonly UsageHour[]): Promise<void> {
    await this.#each(hours, ({ clientId, hour, reason, requests, peak }) =>
      this.#driver.write(ADD_HOUR, [clientId, hour, reason, requests, peak]),
    );
  }

  async raiseRegisters(registers: readonly UserRegister[]): Promise<void> {
    await this.#each(registers, ({ clientId, day, register, value }) =>
      this.#driver.write(RAISE_REGISTER, [clientId, day, register, value]),
    );
  }

  async hours(clientId: string, since: number): Promise<UsageHour[]> {
    const sql = `SELECT hour, reason, requests, peak FROM usage_hours
      WHERE client_id = $1 AND hour >= $2 ORDER BY hour, reason`;
    return (await this.#driver.read(sql, [clientId, since])).map((row) => ({
      clientId,
      hour: Number(row.hour),
      reason: row.reason as string,
      requests: Number(row.requests),
      peak: Number(row.peak),
    }));
  }

  async registers(clientId: string, since: number): Promise<UserRegister[]> {
    const sql = 'SELECT day, register, value FROM usage_users WHERE client_id = $1 AND day >= $2';
    return (await this.#driver.read(sql, [clientId, since])).map((row) => ({
      clientId,
      day: Number(row.day),
      register: Number(row.register),
      value: Number(row.value),
    }));
  }

  async sweep(limit: number, before: number): Promise<void> {
    await this.#driver.write(
      `DELETE FROM usage_hours WHERE (client_id, hour, reason) IN (
        SELECT client_id, hour, reason FROM usage_hours WHERE hour <= $1 LIMIT $2)`,
      [before, limit],
    );
    await this.#driver.write(
      `DELETE FROM usage_users WHERE (client_id, day, register) IN (
        SELECT client_id, day, register FROM usage_users WHERE day <= $1 LIMIT $2)`,
      [before, limit],
    );
  }

  async #each<T>(items: readonly T[], write: (item: T) => Promise<unknown>): Promise<void> {
    for (let i = 0; i < items.length; i += AT_ONCE) await Promise.all(items.slice(i, i + AT_ONCE).map(write));
  }
}
