import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Service } from './service.ts';

type TestMail = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly mode: number;
};

/** All mails in the outbox, oldest first. Waits until pending ones are written. */
export async function mails(service: Service): Promise<TestMail[]> {
  await service.app.mailer.idle();
  const folder = join(service.folder, 'outbox');
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { withFileTypes: true }).map(({ name }) => name);
  return files.sort().map((name) => readMail(join(folder, name)));
}

export async function mailsTo(service: Service, address: string): Promise<TestMail[]> {
  return (await mails(service)).filter(({ to }) => to === address);
}

/** The link of the latest mail to this address. */
export async function linkTo(service: Service, address: string): Promise<string> {
  const latest = (await mailsTo(service, address)).at(-1);
  const link = /https?:\/\/\S+token=\S+/.exec(latest?.text ?? '')?.[0];
  if (!link) throw new Error(`no link in ${latest?.text ?? 'no mail'}`);
  return link;
}

/** The same as a path: tests reach the service by its port, mails name its base URL. */
export async function pathTo(service: Service, address: string): Promise<string> {
  const { pathname, search } = new URL(await linkTo(service, address));
  return pathname + search;
}

function readMail(path: string): TestMail {
  const raw = readFileSync(path, 'utf8');
  const blank = raw.indexOf('\n\n');
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(raw.slice(0, blank))?.[1] ?? '';
  const body = raw.slice(blank + 2);
  const text = /quoted-printable/i.test(header('Content-Transfer-Encoding')) ? decoded(body) : body;
  return { to: header('To'), subject: header('Subject'), text, mode: statSync(path).mode & 0o777 };
}

const decoded = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
