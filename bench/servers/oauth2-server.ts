import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import OAuth2Server from '@node-oauth/oauth2-server';
import { Pool } from 'pg';
import { Model } from './oauth2-server-model.ts';
import { POOL_SIZE } from './pool-size.ts';

/** @node-oauth/oauth2-server is a library; it runs behind a bare node:http server, the fastest option. */
const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: POOL_SIZE });
const oauth = new OAuth2Server({ model: new Model(pool) });
const { Request, Response } = OAuth2Server;
const LIFETIMES = {
  accessTokenLifetime: 3600,
  refreshTokenLifetime: 2_592_000,
  alwaysIssueNewRefreshToken: true,
};

async function token(incoming: IncomingMessage, outgoing: ServerResponse, body: object): Promise<void> {
  const response = new Response();
  try {
    const { headers } = incoming;
    await oauth.token(new Request({ headers, method: 'POST', query: {}, body }), response, LIFETIMES);
  } catch {
    // The library has already written the error to the response.
  }
  send(outgoing, response.status, response.body);
}

async function userinfo(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const response = new Response();
  try {
    const request = new Request({ headers: incoming.headers, method: 'GET', query: {}, body: {} });
    const { user } = await oauth.authenticate(request, response);
    send(outgoing, 200, { sub: user.id, name: user.name, email: user.email, email_verified: true });
  } catch (error) {
    send(outgoing, (error as { code?: number }).code ?? 500, { error: (error as Error).name });
  }
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  outgoing.writeHead(status, { ...headers, 'cache-control': 'no-store' }).end(text);
}

const server = createServer((incoming, outgoing) => {
  if (incoming.method === 'GET') return void userinfo(incoming, outgoing);
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => void token(incoming, outgoing, { ...parse(Buffer.concat(chunks).toString()) }));
});
server.listen(Number(process.env.BENCH_PORT), '127.0.0.1');
process.on('disconnect', () => process.exit());
