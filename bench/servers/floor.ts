import { createServer } from 'node:http';
import { parse } from 'node:querystring';

/**
 * The floor: the cost of Node itself. A bare node:http server that responds to a GET with a small
 * JSON, and to a form POST, read and parsed, with a JSON of a token response's size. No checks, no
 * database. No Node server that parses a form can be much faster.
 */
const token = (length: number) => 'x'.repeat(length);
const USERINFO = JSON.stringify({
  sub: token(22),
  name: 'Ada Lovelace',
  updated_at: 1_893_456_000,
  email: 'ada@example.com',
  email_verified: true,
});
const TOKENS = JSON.stringify({
  access_token: token(97),
  refresh_token: token(85),
  token_type: 'Bearer',
  expires_in: 3600,
  scope: 'profile email',
});
const headersFor = (body: string) => ({
  'content-type': 'application/json',
  'content-length': String(body.length),
  'cache-control': 'no-store',
});
const USERINFO_HEADERS = headersFor(USERINFO);
const TOKENS_HEADERS = headersFor(TOKENS);

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, USERINFO_HEADERS).end(USERINFO);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const form = parse(Buffer.concat(chunks).toString('latin1'));
    if (!form.client_id) response.writeHead(400, TOKENS_HEADERS).end(TOKENS);
    else response.writeHead(200, TOKENS_HEADERS).end(TOKENS);
  });
});
server.listen(Number(process.env.BENCH_PORT), '127.0.0.1');
process.on('disconnect', () => process.exit());
