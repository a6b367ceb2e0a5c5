import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { PosternServer } from '../../src/http/server.ts';
import { routing } from '../../src/routes.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';

describe('connections', () => {
  test('the timeouts are the documented ones (protocol 8.4)', async () => {
    const service = await Service.start();
    try {
      const { headersTimeout, requestTimeout, keepAliveTimeout, connectionsCheckingInterval } =
        new PosternServer(service.app, routing()).http as Server & { connectionsCheckingInterval: number };
      assert.deepEqual(
        { headersTimeout, requestTimeout, keepAliveTimeout },
        { headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 30_000 },
      );
      // Node enforces the first two only this often (30 seconds by default).
      assert.equal(connectionsCheckingInterval, 1_000);
    } finally {
      await service.stop();
    }
  });

  const SLOW_PEERS = [
    {
      timeouts: { headersTimeout: 100, requestTimeout: 50_000 },
      slow: 'headers',
      request: 'GET /health HTTP/1.1\r\nHost: postern\r\nX-Slow: ',
    },
    {
      timeouts: { headersTimeout: 100, requestTimeout: 200 },
      slow: 'body',
      request: 'POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 100\r\n\r\ngrant_type=',
    },
  ];
  for (const { timeouts, slow, request } of SLOW_PEERS) {
    test(`a peer that sends its ${slow} too slowly gets 408 and is disconnected`, {
      timeout: 60_000,
    }, async () => {
      const service = await Service.start();
      const server = new PosternServer(service.app, routing());
      Object.assign(server.http, timeouts);
      await server.listen('127.0.0.1', 0);
      try {
        const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
        let received = '';
        socket
          .on('error', () => {})
          .on('data', (text: string) => {
            received += text;
          });
        socket.write(request);
        const startedAt = performance.now();
        await once(socket, 'close');
        const ms = performance.now() - startedAt;
        assert.match(received, /^HTTP\/1\.1 408 /);
        assert.ok(ms < 10_000, `the connection was held for ${Math.round(ms)} ms`);
      } finally {
        await server.close();
        await service.stop();
      }
    });
  }

  test('a timed-out peer that keeps its half open, or keeps sending, is disconnected', {
    timeout: 60_000,
  }, async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app, routing());
    server.http.headersTimeout = 100;
    server.http.requestTimeout = 200;
    await server.listen('127.0.0.1', 0);
    const silent = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const endless = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const sending = setInterval(() => endless.write('x'.repeat(1000)), 20);
    try {
      silent.on('error', () => {}).resume();
      endless.on('error', () => {}).resume();
      endless.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 100000000\r\n\r\n');
      const connections = () =>
        new Promise<number>((resolve) => server.http.getConnections((_, count) => resolve(count)));
      await eventually(async () => (await connections()) === 2);
      await eventually(async () => (await connections()) === 0);
    } finally {
      clearInterval(sending);
      silent.destroy();
      endless.destroy();
      await server.close();
      await service.stop();
    }
  });

  test('a request that completes while the server stops gets a response with Connection: close', async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app, routing());
    await server.listen('127.0.0.1', 0);
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    try {
      socket.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 2\r\n\r\nx');
      await once(server.http, 'request');
      const closed = server.close();
      socket.write('x');
      await once(socket, 'end');
      await closed;
      assert.match(received, /^HTTP\/1.1 400 Bad Request\r\n/);
      assert.match(received, /\r\nconnection: close\r\n/i);
    } finally {
      socket.destroy();
      await service.stop();
    }
  });

  test('a request target in absolute form is routed by its path (RFC 9112 3.2.2)', async () => {
    const service = await Service.start();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    try {
      socket.setEncoding('utf8');
      for (const url of ['http://postern.example/health', 'HTTP://postern.example:80/health?x=1']) {
        socket.write(`GET ${url} HTTP/1.1\r\nHost: postern\r\n\r\n`);
        const [response] = (await once(socket, 'data')) as [string];
        assert.match(response, /^HTTP\/1.1 200 OK\r\n/);
      }
    } finally {
      socket.destroy();
      await service.stop();
    }
  });

  test('a peer that never reads its responses is disconnected', { timeout: 60_000 }, async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app, routing());
    server.http.requestTimeout = 200;
    await server.listen('127.0.0.1', 0);
    const socket = connect(server.port, '127.0.0.1');
    try {
      socket.on('error', () => {}).pause();
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: postern\r\n\r\n'.repeat(1000));
      const connections = () =>
        new Promise<number>((resolve) => server.http.getConnections((_, count) => resolve(count)));
      await eventually(async () => (await connections()) === 1);
      await eventually(async () => (await connections()) === 0);
    } finally {
      socket.destroy();
      await server.close();
      await service.stop();
    }
  });

  test('200 slow peers do not delay other requests', async () => {
    const service = await Service.start();
    const sockets: Socket[] = [];
    try {
      const { port } = new URL(service.url);
      for (let n = 0; n < 200; n++) {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        socket.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Le');
        sockets.push(socket);
      }
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      assert.equal((await service.get('/health')).status, 200);
    } finally {
      for (const socket of sockets) socket.destroy();
      await service.stop();
    }
  });
});
