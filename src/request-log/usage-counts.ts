import { registerOf } from '../protocol/distinct-count.ts';
import type { Store } from '../store/store.ts';
import type { UsageHour, UserRegister } from '../store/usage.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Bounds on what is held between two writes; beyond them requests are not counted. */
const MAX_COUNTS = 20_000;
const MAX_USERS = 20_000;
const MAX_KNOWN = 200_000;

type Count = { readonly clientId: string; readonly hour: number; readonly reason: string } & {
  requests: number;
  peak: number;
};

/** Request counts and active users of the applications, held in memory until they are written. */
export class UsageCounts {
  #counts = new Map<string, Count>();
  #users = new Map<string, { readonly clientId: string; readonly day: number; readonly userId: string }>();
  /** Values that the database already has: a register only ever rises, so most users change nothing. */
  readonly #known = new Map<string, number>();

  /** `limitUsed`: requests of the rate limit's window that were used up with this one. */
  count(clientId: string, reason: string, limitUsed: number, now: number): void {
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
    const key = `${clientId} ${hour} ${reason}`;
    const count = this.#counts.get(key);
    if (count) {
      count.requests++;
      if (limitUsed > count.peak) count.peak = limitUsed;
    } else if (this.#counts.size < MAX_COUNTS) {
      this.#counts.set(key, { clientId, hour, reason, requests: 1, peak: limitUsed });
    }
  }

  seeUser(clientId: string, userId: string, now: number): void {
    if (this.#users.size >= MAX_USERS) return;
    this.#users.set(clientId + userId, { clientId, day: Math.floor(now / DAY_MS) * DAY_MS, userId });
  }

  get pending(): boolean {
    return this.#counts.size > 0 || this.#users.size > 0;
  }

  async write({ usage }: Store): Promise<void> {
    const hours: UsageHour[] = [...this.#counts.values()];
    this.#counts = new Map();
    const registers = this.#newRegisters();
    await usage.addHours(hours);
    await usage.raiseRegisters(registers);
  }

  #newRegisters(): UserRegister[] {
    const raised = new Map<string, UserRegister>();
    if (this.#known.size > MAX_KNOWN) this.#known.clear();
    for (const { clientId, day, userId } of this.#users.values()) {
      const { register, value } = registerOf(userId);
      const key = `${clientId} ${day} ${register}`;
      if ((this.#known.get(key) ?? 0) >= value) continue;
      this.#known.set(key, value);
      raised.set(key, { clientId, day, register, value });
    }
    this.#users = new Map();
    return [...raised.values()];
  }
}
