import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { type ConfigError, readConfig } from '../../src/config.ts';
import { Mailer } from '../../src/mail/mailer.ts';

/** A minimal mail server that only receives: RFC 5321, no extensions. */
async function startSmtp(refuse = false): Promise<{ url: string; received: string[]; server: Server }> {
  const received: string[] = [];
  const server = createServer((socket) => {
    let data = '';
    let inData = false;
    socket.write('220 mail.example\r\n');
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      data += chunk.toString('utf8');
      for (
        let end = data.indexOf(inData ? '\r\n.\r\n' : '\r\n');
        end >= 0;
        end = data.indexOf(inData ? '\r\n.\r\n' : '\r\n')
      ) {
        const line = data.slice(0, end);
        data = data.slice(end + (inData ? 5 : 2));
        if (inData) {
          received.push(line);
          inData = false;
          socket.write('250 ok\r\n');
        } else if (/^DATA/i.test(line)) {
          inData = true;
          socket.write('354 go on\r\n');
        } else if (/^RCPT/i.test(line) && refuse) socket.write('451 ada@example.com: try later\r\n');
        else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
        else socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, received, server };
}

function mailerWith(url: string): { mailer: Mailer; logged: string[] } {
  const logged: string[] = [];
  const config = readConfig({ POSTERN_SMTP_URL: url, POSTERN_BASE_URL: 'https://id.example' });
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  return { mailer: new Mailer(config, log), logged };
}

const MAIL = { to: 'ada@example.com', subject: 'Hello', text: 'https://id.example/x?token=secret-token\n' };

test('mail goes to the server of POSTERN_SMTP_URL, and the log contains neither address nor link', async () => {
  const { url, received, server } = await startSmtp();
  const { mailer, logged } = mailerWith(url);
  mailer.post('verify_email', async () => MAIL);
  await mailer.idle();
  await mailer.stop();
  server.close();
  assert.equal(received.length, 1);
  assert.match(received[0]!, /^To: ada@example\.com\r$/m);
  assert.match(received[0]!, /^From: Postern <no-reply@id\.example>\r$/m);
  assert.match(received[0]!, /^Auto-Submitted: auto-generated\r$/m);
  assert.match(received[0]!, /token=3Dsecret-token|token=secret-token/);
  assert.doesNotMatch(logged.join(''), /ada@|secret-token/);
});

test('a refusal is logged without the address, and does not stop the next mail', async () => {
  const { url, server } = await startSmtp(true);
  const { mailer, logged } = mailerWith(url);
  mailer.post('sign_up', async () => MAIL);
  mailer.post('sign_up', () => Promise.reject(new Error('the database is gone')));
  mailer.post('sign_up', async () => undefined);
  await mailer.idle();
  await mailer.stop();
  server.close();
  assert.ok(logged.some((line) => line.includes('a mail was not sent') && line.includes('451')));
  assert.ok(logged.some((line) => line.includes('a mail could not be composed')));
  assert.doesNotMatch(logged.join(''), /ada@|secret-token/);
});

test('the queue is bounded', async () => {
  const { mailer, logged } = mailerWith('smtp://127.0.0.1:9');
  let done: (() => void) | undefined;
  const wait = new Promise<void>((resolve) => {
    done = resolve;
  });
  for (let i = 0; i < 1100; i++) mailer.post('sign_up', () => wait.then(() => undefined));
  assert.equal(logged.filter((line) => line.includes('too many are waiting')).length, 96);
  done!();
  await mailer.stop();
});

test('the outbox keeps the newest thousand mails, and files of others', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-outbox-'));
  const outbox = join(dataDir, 'outbox');
  mkdirSync(outbox);
  const name = (n: number) => `2020-01-01T00-00-00-${String(n).padStart(3, '0')}Z-00000000.eml`;
  for (let n = 0; n < 999; n++) writeFileSync(join(outbox, name(n)), '');
  writeFileSync(join(outbox, '0000-notes.txt'), '');
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const mailer = new Mailer(readConfig({ POSTERN_DATA_DIR: dataDir }), log);
  const removals = () => logged.filter((line) => line.includes('the oldest were removed')).length;
  mailer.post('sign_up', async () => MAIL);
  await mailer.idle();
  assert.deepEqual([readdirSync(outbox).length, removals()], [1001, 0]);
  mailer.post('sign_up', async () => MAIL);
  await mailer.stop();
  const names = readdirSync(outbox);
  assert.deepEqual([names.length, removals()], [1001, 1]);
  assert.deepEqual(
    ['0000-notes.txt', name(0), name(1)].map((one) => names.includes(one)),
    [true, false, true],
  );
  rmSync(dataDir, { recursive: true });
});

test('invalid mail settings are reported without the password', () => {
  const wrong = { POSTERN_SMTP_URL: 'http://user:hunter2@mail.example', POSTERN_MAIL_FROM: 'nobody' };
  assert.throws(
    () => readConfig(wrong),
    (error: ConfigError) => error.faults.length === 2 && !error.message.includes('hunter2'),
  );
});
