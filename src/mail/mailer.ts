import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/** For the log, which never contains an address or a link. */
type MailKind =
  | 'sign_up'
  | 'verify_email'
  | 'reset_password'
  | 'change_email'
  | 'email_change_notice'
  | 'email_changed'
  | 'password_notice'
  | 'incident';

/** Composes a mail, or returns undefined if none is to be sent. Runs after the response, as sending does. */
type Compose = () => Promise<Mail | undefined>;

const MAX_WAITING = 1_000;
const MAX_SENDING = 4;
/** Without a mail server: the oldest beyond it are removed, because anybody can request mails. */
const MAX_IN_OUTBOX = 1_000;
const OUTBOX_FILE = /^\d{4}-\d\d-\d\dT[\d-]+Z-[0-9a-f]{8}\.eml(\.part)?$/;
const RETRY_DELAYS_MS = [5_000, 30_000, 120_000];

type Job = { readonly kind: MailKind; readonly compose: Compose; attempt: number };
/** Returns the path of the file that a mail was written to, if it was. */
type Deliver = (mail: Mail) => Promise<string | undefined>;

/**
 * Sends mail after the response, so that no response waits for a mail server, and none takes longer
 * because the account exists. A mail that cannot be sent is retried a few times and then dropped: the
 * user can request another one.
 */
export class Mailer {
  readonly #log: Logger;
  readonly #deliver: Deliver;
  readonly #queue: Job[] = [];
  readonly #retries = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();

  constructor(config: Config, log: Logger) {
    this.#log = log;
    this.#deliver =
      config.smtpUrl === undefined ? outboxDelivery(config, log) : smtpDelivery(config, config.smtpUrl);
  }

  post(kind: MailKind, compose: Compose): void {
    if (this.#queue.length + this.#retries.size >= MAX_WAITING) {
      this.#log.error({ mail: kind }, 'a mail was dropped: too many are waiting');
      return;
    }
    this.#queue.push({ kind, compose, attempt: 0 });
    this.#next();
  }

  /** Resolves when all mails are sent, except those that wait for a retry. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    for (const retry of this.#retries) clearTimeout(retry);
    this.#retries.clear();
    await this.idle();
  }

  #next(): void {
    while (this.#running.size < MAX_SENDING && this.#queue.length > 0) {
      const work = this.#send(this.#queue.shift()!).then(() => {
        this.#running.delete(work);
        this.#next();
      });
      this.#running.add(work);
    }
  }

  async #send(job: Job): Promise<void> {
    try {
      const mail = await job.compose();
      if (!mail) return;
      // A retry sends the same mail: composing it again would create a second link.
      const compose = async () => mail;
      await this.#attempt({ ...job, compose }, mail);
    } catch (error) {
      this.#log.error({ mail: job.kind, err: error }, 'a mail could not be composed');
    }
  }

  async #attempt(job: Job, mail: Mail): Promise<void> {
    try {
      const file = await this.#deliver(mail);
      if (file) this.#log.info({ mail: job.kind, file }, 'a mail was written to the outbox');
      else this.#log.info({ mail: job.kind }, 'a mail was sent');
    } catch (error) {
      this.#log.warn(
        { mail: job.kind, attempt: job.attempt + 1, reason: codeOf(error) },
        'a mail was not sent',
      );
      this.#retry(job);
    }
  }

  #retry(job: Job): void {
    const delayMs = RETRY_DELAYS_MS[job.attempt];
    if (delayMs === undefined) {
      this.#log.error({ mail: job.kind }, 'a mail was dropped after the last retry');
      return;
    }
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#queue.push({ ...job, attempt: job.attempt + 1 });
      this.#next();
    }, delayMs).unref();
    this.#retries.add(timer);
  }
}

/** Only codes: the text of a mail server's error may contain the address. */
function codeOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown';
}

const message = (config: Config, { to, subject, text }: Mail) => ({
  from: config.mailFrom,
  to: { name: '', address: to },
  subject,
  text,
  // Suppresses automatic replies (RFC 3834).
  headers: { 'Auto-Submitted': 'auto-generated' },
});

/** Loaded with the first mail: it would slow down the start, and many processes never send one. */
const loadNodemailer = async () => (await import('nodemailer')).default;

function once<T>(create: () => Promise<T>): () => Promise<T> {
  let created: Promise<T> | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

function smtpDelivery(config: Config, url: string): Deliver {
  const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
  const options = { url, pool: true, maxConnections: 2, ...timeouts } as const;
  const transport = once(async () => (await loadNodemailer()).createTransport(options));
  return async (mail) => {
    await (await transport()).sendMail(message(config, mail));
    return undefined;
  };
}

/** Without a mail server, each mail becomes a file that only the service's account can read. */
function outboxDelivery(config: Config, log: Logger): Deliver {
  const folder = join(config.dataDir, 'outbox');
  const options = { streamTransport: true, buffer: true, newline: 'unix' } as const;
  const transport = once(async () => (await loadNodemailer()).createTransport(options));
  return async (mail) => {
    const { message: content } = await (await transport()).sendMail(message(config, mail));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const path = join(folder, `${time}-${randomBytes(4).toString('hex')}.eml`);
    // Renamed when complete, so that a program that watches the folder never reads half a mail.
    await writeFile(`${path}.part`, content as Buffer, { mode: 0o600 });
    await chmod(`${path}.part`, 0o600);
    await rename(`${path}.part`, path);
    await removeOldest(folder, log);
    return path;
  };
}

/** Names begin with the time, and files that were not written here stay. */
async function removeOldest(folder: string, log: Logger): Promise<void> {
  const mails = (await readdir(folder)).filter((name) => OUTBOX_FILE.test(name)).sort();
  const excess = mails.slice(0, Math.max(0, mails.length - MAX_IN_OUTBOX));
  if (excess.length === 0) return;
  await Promise.all(excess.map((name) => rm(join(folder, name), { force: true })));
  log.warn({ removed: excess.length }, `the outbox keeps ${MAX_IN_OUTBOX} mails: the oldest were removed`);
}
