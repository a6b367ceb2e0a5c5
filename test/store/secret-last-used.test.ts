import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { Driver, Row, Value } from '../../src/store/drivers/driver.ts';
import { SecretLastUsed } from '../../src/store/secret-last-used.ts';

const MINUTE = 60_000;

describe('when a secret was last used', () => {
  let written: (readonly Value[])[];
  let failing: boolean;
  let uses: SecretLastUsed;
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

  beforeEach(() => {
    written = [];
    failing = false;
    const write = async (_sql: string, values: readonly Value[] = []): Promise<Row[]> => {
      if (failing) throw new Error('the database is away');
      written.push(values);
      return [];
    };
    uses = new SecretLastUsed({ write } as Driver);
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(() => mock.timers.reset());

  it('is written at most once per minute, with the latest use', async () => {
    for (let at = 0; at < 1000; at++) uses.record('app', 'secret', at);
    uses.record('app', 'other', 7);
    assert.deepEqual(written, [], 'not while a request waits');
    mock.timers.tick(MINUTE - 1);
    await settle();
    assert.deepEqual(written, []);
    mock.timers.tick(1);
    await settle();
    assert.deepEqual(written, [
      ['app', 'secret', 999],
      ['app', 'other', 7],
    ]);
    uses.record('app', 'secret', 61_000);
    mock.timers.tick(MINUTE - 1);
    await settle();
    assert.equal(written.length, 2);
    mock.timers.tick(1);
    await settle();
    assert.deepEqual(written[2], ['app', 'secret', 61_000]);
    mock.timers.tick(10 * MINUTE);
    await settle();
    assert.equal(written.length, 3, 'nothing is written when nothing was used');
  });

  it('is known before it is written', async () => {
    uses.record('app', 'secret', 5);
    assert.equal(uses.unwritten('secret'), 5);
    assert.equal(uses.unwritten('other'), undefined);
    mock.timers.tick(MINUTE);
    assert.equal(uses.unwritten('secret'), 5, 'and while it is being written');
    await settle();
    assert.equal(uses.unwritten('secret'), undefined);
  });

  it('is written when the store closes', async () => {
    uses.record('app', 'secret', 5);
    await uses.close();
    assert.deepEqual(written, [['app', 'secret', 5]]);
  });

  it('survives a failing database', async () => {
    failing = true;
    uses.record('app', 'secret', 5);
    mock.timers.tick(MINUTE);
    await settle();
    failing = false;
    uses.record('app', 'secret', 6);
    mock.timers.tick(MINUTE);
    await settle();
    assert.deepEqual(written, [['app', 'secret', 6]]);
  });
});
