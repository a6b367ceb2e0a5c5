import type { IncomingMessage } from 'node:http';

export const BODY_LIMIT = 64 * 1024;
const MIN_BODY_BUFFER = 512;
const NO_BODY = Buffer.alloc(0);

/**
 * Reads the body as bytes: endpoints parse it themselves. `done` gets undefined as soon as it is too large; the rest is
 * then discarded. For an aborted body there is nobody to respond to.
 */
export function readBody(raw: IncomingMessage, done: (body: Buffer | undefined) => void): void {
  const announced = Number(raw.headers['content-length'] ?? 0);
  let body: Buffer = NO_BODY;
  let size = 0;
  raw.on('error', () => {});
  raw.on('data', (chunk: Buffer) => {
    if (size > BODY_LIMIT) return;
    if (size === 0 && chunk.length === announced) body = chunk;
    else if (size + chunk.length <= BODY_LIMIT) body = append(body, size, chunk);
    else done(undefined);
    size += chunk.length;
  });
  raw.on('end', () => {
    if (size <= BODY_LIMIT) done(body.subarray(0, size));
  });
}

/**
 * Copies into one buffer that doubles: a list of chunks would cost a slow sender's one-byte chunks 70 times their size,
 * each with its own object and the 64 KiB that it was received in.
 */
function append(body: Buffer, size: number, chunk: Buffer): Buffer {
  const needed = size + chunk.length;
  let target = body;
  if (needed > body.length) {
    target = Buffer.allocUnsafeSlow(Math.min(BODY_LIMIT, Math.max(needed, 2 * body.length, MIN_BODY_BUFFER)));
    body.copy(target, 0, 0, size);
  }
  chunk.copy(target, size);
  return target;
}
