import { connect } from 'node:net';
import type { Reply, Service } from './service.ts';

/**
 * Sends a request byte for byte, as no HTTP client would. `head` is the request line and the headers; Host,
 * Content-Length and `Connection: close` are added. With `Transfer-Encoding: chunked` the body is sent in one chunk,
 * without a length.
 */
export async function rawRequest(
  service: Service,
  head: readonly string[],
  body: string | Buffer = '',
): Promise<Reply> {
  const bytes = Buffer.from(body as string);
  const chunked = head.includes('Transfer-Encoding: chunked');
  const lines = [...head, 'Host: postern.test', 'Connection: close'];
  if (bytes.length > 0 && !chunked) lines.push(`Content-Length: ${bytes.length}`);
  const sent = chunked ? inOneChunk(bytes) : bytes;
  const response = await talk(
    service,
    Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), sent]),
  );
  const end = response.indexOf('\r\n\r\n');
  const [statusLine = '', ...headerLines] = response
    .subarray(0, Math.max(0, end))
    .toString('latin1')
    .split('\r\n');
  const headers = new Headers();
  for (const line of headerLines)
    headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1));
  const text = response.subarray(end + 4).toString('utf8');
  const isJson = headers.get('content-type')?.startsWith('application/json') && text !== '';
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: isJson ? JSON.parse(text) : {} };
}

const inOneChunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);

/** All bytes received until the service closes the connection. */
function talk(service: Service, request: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const said: Buffer[] = [];
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('data', (bytes: Buffer) => said.push(bytes));
    // It may close before it has read the whole body.
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(said)));
    socket.write(request);
  });
}
