import type { Driver } from './drivers/driver.ts';
import { number, type ObjectOf, text, WritableRowType } from './row-type.ts';

const HOUR = new WritableRowType({
  clientId: text('client_id'),
  hour: number('hour'),
  /** Empty for a success. */
  reason: text('reason'),
  requests: number('requests'),
  /** The highest use of the rate limit. */
  peak: number('peak'),
});

const REGISTER = new WritableRowType({
  clientId: text('client_id'),
  day: number('day'),
  register: number('register'),
  value: number('value'),
});

/** The requests of one hour with one result. */
export type UsageHour = ObjectOf<typeof HOUR>;
/** One register of a day's sketch of its users (src/protocol/distinct-count.ts). */
export type UserRegister = ObjectOf<typeof REGISTER>;

const ADD_HOUR = `
  INSERT INTO usage_hours (${HOUR.columns}) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (client_id, hour, reason) DO UPDATE SET
    requests = usage_hours.requests + excluded.requests,
    peak = CASE WHEN excluded.peak > usage_hours.peak THEN excluded.peak ELSE usage_hours.peak END`;

const RAISE_REGISTER = `
  INSERT INTO usage_users (${REGISTER.columns}) VALUES ($1, $2, $3, $4)
  ON CONFLICT (client_id, day, register) DO UPDATE SET value = excluded.value
    WHERE excluded.value > usage_users.value`;

/** Few enough that other statements get their turn in between. */
const MAX_CONCURRENT = 50;

/** Counts to which all nodes add. */
export class SqlUsage {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async addHours(hours: readonly UsageHour[]): Promise<void> {
    await this.#each(hours, (hour) => this.#driver.write(ADD_HOUR, HOUR.write(hour)));
  }

  async raiseRegisters(registers: readonly UserRegister[]): Promise<void> {
    await this.#each(registers, (register) => this.#driver.write(RAISE_REGISTER, REGISTER.write(register)));
  }

  async hours(clientId: string, since: number): Promise<UsageHour[]> {
    const sql = `SELECT ${HOUR.columns} FROM usage_hours
      WHERE client_id = $1 AND hour >= $2 ORDER BY hour, reason`;
    return (await this.#driver.read(sql, [clientId, since])).map((row) => HOUR.read(row));
  }

  async registers(clientId: string, since: number): Promise<UserRegister[]> {
    const sql = `SELECT ${REGISTER.columns} FROM usage_users WHERE client_id = $1 AND day >= $2`;
    return (await this.#driver.read(sql, [clientId, since])).map((row) => REGISTER.read(row));
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
    for (let i = 0; i < items.length; i += MAX_CONCURRENT)
      await Promise.all(items.slice(i, i + MAX_CONCURRENT).map(write));
  }
}
