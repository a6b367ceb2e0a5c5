import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/** What a mail is about: for the log, which never holds an address or a link. */
export type MailKind =
  | 'sign_up'
  | 'verify_email'
  | 'reset_password'
  | 'change_email'
  | 'email_change_notice'
  | 'password_notice'
  | 'incident';

/** Writes a mail, or finds that none is to be sent. It runs off the request path, as sending does. */
export type Compose = () => Promise<Mail | undefined>;

const MAX_WAITING = 1_000;
const AT_ONCE = 4;
const RETRY_MS = [5_000, 30_000, 120_000];

type Job = { readonly kind: MailKind; readonly compose: Compose; attempt: number };
type Deliver = (mail: Mail) => Promise<string | undefined>;

/**
 * Sends mail after the request that asked for it was answered: no answer waits for a mail server, and
 * none takes longer because there is an account to write to. What cannot be sent is tried again a
 * few times and then given up: whoever waits for it asks for another.
 */
export class Mailer {
  readonly #log: Logger;
  readonly #deliver: Deliver;
  readonly #queue: Job[] = [];
  readonly #retries = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();

  constructor(config: Config, log: Logger) {
    this.#log = log;
    this.#deliver = config.smtpUrl === undefined ? toOutbox(config) : overSmtp(config, config.smtpUrl);
  }

  post(kind: MailKind, compose: Compose): void {
    if (this.#queue.length + this.#retries.size >= MAX_WAITING) {
      this.#log.error({ mail: kind }, 'a mail was dropped: too many are waiting');
      return;
    }
    this.#queue.push({ kind, compose, attempt: 0 });
    this.#next();
  }

  /** Resolves when everything that is not waiting for another try was sent. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    for (const retry of this.#retries) clearTimeout(retry);
    this.#retries.clear();
    await this.idle();
  }

  #next(): void {
    while (this.#running.size < AT_ONCE && this.#queue.length > 0) {
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
      // A second try sends the same mail: composing anew would make a second link.
      const compose = async () => mail;
      await this.#try({ ...job, compose }, mail);
    } catch (error) {
      this.#log.error({ mail: job.kind, err: error }, 'a mail could not be written');
    }
  }

  async #try(job: Job, mail: Mail): Promise<void> {
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
    const wait = RETRY_MS[job.attempt];
    if (wait === undefined) {
      this.#log.error({ mail: job.kind }, 'a mail was given up');
      return;
    }
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#queue.push({ ...job, attempt: job.attempt + 1 });
      this.#next();
    }, wait).unref();
    this.#retries.add(timer);
  }
}

/** A mail server's words may repeat the address; its codes do not. */
function codeOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown';
}

const message = (config: Config, { to, subject, text }: Mail) => ({
  from: config.mailFrom,
  to: { name: '', address: to },
  subject,
  text,
  // RFC 3834: holidays and the like need not answer.
  headers: { 'Auto-Submitted': 'auto-generated' },
});

/** Loaded with the first mail: the start need not wait for it, and many a process never sends one. */
const loadNodemailer = async () => (await import('nodemailer')).default;

function atFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function overSmtp(config: Config, url: string): Deliver {
  const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
  const options = { url, pool: true, maxConnections: 2, ...timeouts } as const;
  const transport = atFirstUse(async () => (await loadNodemailer()).createTransport(options));
  return async (mail) => {
    await (await transport()).sendMail(message(config, mail));
    return undefined;
  };
}

/** Without a mail server: each mail is a file that only the service's own account can read. */
function toOutbox(config: Config): Deliver {
  const folder = join(config.dataDir, 'outbox');
  const options = { streamTransport: true, buffer: true, newline: 'unix' } as const;
  const transport = atFirstUse(async () => (await loadNodemailer()).createTransport(options));
  return async (mail) => {
    const { message: content } = await (await transport()).sendMail(message(config, mail));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const path = join(folder, `${time}-${randomBytes(4).toString('hex')}.eml`);
    // Whoever watches the folder never finds half a mail.
    await writeFile(`${path}.part`, content as Buffer, { mode: 0o600 });
    await chmod(`${path}.part`, 0o600);
    await rename(`${path}.part`, path);
    return path;
  };
}
