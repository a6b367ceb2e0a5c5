import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Service } from '../support/service.ts';

const GET = 'GET /health HTTP/1.1\r\nHost: postern.test\r\n\r\n';
const BODY = 'grant_type=refresh_token&client_id=app_x&client_secret=x&refresh_token=x';
const FORM = 'Content-Type: application/x-www-form-urlencoded';
const POST = `POST /oauth/token HTTP/1.1\r\nHost: postern.test\r\n${FORM}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

describe('malformed HTTP', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  /** The status codes of all responses until the service closes the connection. */
  function statuses(...writes: string[]): Promise<number[]> {
    return new Promise((resolve) => {
      let received = '';
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1').setEncoding('latin1');
      socket.on('data', (text: string) => {
        received += text;
      });
      socket.on('error', () => {});
      socket.on('close', () =>
        resolve([...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))),
      );
      for (const text of writes) socket.write(text);
    });
  }

  for (const [name, garbage] of [
    ['a request line that is none', 'GARBAGE\r\n\r\n'],
    ['endless headers', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`],
  ] as const) {
    it(`${name} is refused after the responses to the requests before it`, async () => {
      const refused = garbage.length > 16_384 ? 431 : 400;
      assert.deepEqual(await statuses(GET + garbage), [200, refused]);
      assert.deepEqual(await statuses(POST + GET + POST + garbage), [401, 200, 401, refused]);
      assert.deepEqual(await statuses(GET, garbage, garbage, garbage), [200, refused]);
      assert.deepEqual(await statuses(garbage), [refused]);
    });
  }

  it('a malformed body is refused after the responses to the requests before it', async () => {
    const head = `POST /oauth/token HTTP/1.1\r\nHost: postern.test\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    assert.deepEqual(await statuses(`${head}XYZ\r\n`), [400]);
    assert.deepEqual(await statuses(`${POST}${head}3\r\nabc\r\nXYZ\r\n`), [401, 400]);
  });

  it('a malformed body of a request that was answered gets no second response', async () => {
    const head = 'GET /health HTTP/1.1\r\nHost: postern.test\r\nTransfer-Encoding: chunked\r\n\r\n';
    assert.deepEqual(await statuses(head, '3\r\nabc\r\nXYZ\r\n'), [200]);
  });

  it('more or less than one Host, and one that is no host, are refused (RFC 9112 3.2)', async () => {
    const request = (...lines: string[]) => ['GET /health HTTP/1.1', ...lines, '', ''].join('\r\n');
    const close = 'Connection: close';
    assert.deepEqual(await statuses(request('Host: postern.test', close)), [200]);
    assert.deepEqual(await statuses(request('Host: [::1]:3000', close)), [200]);
    assert.deepEqual(await statuses(request('Host: postern.test', 'host: evil.example')), [400]);
    assert.deepEqual(await statuses(request('Host: postern.test', 'Host: postern.test')), [400]);
    assert.deepEqual(await statuses(request('Host: postern.test evil.example')), [400]);
    assert.deepEqual(await statuses(request('Host: evil.example/path?')), [400]);
    assert.deepEqual(await statuses(request(close)), [400]);
    const twoHosts = POST.replace('Host: postern.test', 'Host: postern.test\r\nHost: evil.example');
    assert.deepEqual(await statuses(GET + twoHosts), [200, 400]);
  });
});
