import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlApplications } from '../../src/store/applications.ts';
import type { Driver, Row, Statement, Value } from '../../src/store/drivers/driver.ts';
import { SqlOwnedApplications } from '../../src/store/owned-applications.ts';

const OWNER = 'the owner';
const APPLICATION = {
  clientId: 'app_x',
  name: 'X',
  redirectUris: ['https://x.example/'],
  scope: 1,
  optionalScope: 0,
  secret: 'secret',
  now: 1,
};

test('an application is created without INSERT … SELECT, which deadlocks on reference tables of Citus', async () => {
  const sent: string[] = [];
  const driver = {
    transaction: async (all: readonly Statement[]) => {
      sent.push(...all.map(({ sql }) => sql));
      return all.map(() => []);
    },
    notifyStatements: () => [],
    onExternalChange: () => {},
  } as unknown as Driver;
  const applications = new SqlApplications(driver);
  await applications.create({ ...APPLICATION, ownerId: OWNER });
  await new SqlOwnedApplications(driver, applications, OWNER).create(APPLICATION, 'form');
  const inserts = sent.filter((sql) => /INSERT INTO application/.test(sql));
  assert.equal(inserts.length, 5);
  for (const sql of inserts) assert.doesNotMatch(sql, /SELECT/);
});

test('every statement on the applications of an owner has the owner in its condition or its row', async () => {
  const statements: Statement[] = [];
  const run = async (sql: string, values: readonly Value[] = []): Promise<Row[]> => {
    statements.push({ sql, values });
    return [];
  };
  const driver = {
    read: run,
    write: run,
    transaction: (all: readonly Statement[]) => Promise.all(all.map(({ sql, values }) => run(sql, values))),
    notifyStatements: () => [],
    onExternalChange: () => {},
  } as unknown as Driver;
  const owned = new SqlOwnedApplications(driver, new SqlApplications(driver), OWNER);

  const calls: { readonly [M in keyof SqlOwnedApplications]: () => Promise<unknown> } = {
    list: () => owned.list(),
    find: () => owned.find('app_x'),
    create: () => owned.create(APPLICATION, 'form'),
    createdBy: () => owned.createdBy('form'),
    edit: () => owned.edit('app_x', { name: 'Y' }, 1),
    disable: () => owned.disable('app_x', 1),
    enable: () => owned.enable('app_x', 1),
    delete: () => owned.delete('app_x', 'X'),
    addSecret: () => owned.addSecret('app_x', { id: 'second', secret: 'secret', now: 1 }),
    removeSecret: () => owned.removeSecret('app_x', 'second', 1),
  };
  for (const [method, call] of Object.entries(calls)) {
    statements.length = 0;
    await call();
    assert.ok(statements.length > 0, method);
    for (const { sql, values } of statements) {
      // The first secret of the application that this very transaction inserts, with its owner.
      if (method === 'create' && sql.startsWith('INSERT INTO application_secrets')) continue;
      const parameter = values.indexOf(OWNER) + 1;
      const named = new RegExp(`owner_id = \\$${parameter}\\b|\\(([a-z_]+, )*owner_id\\b`);
      assert.ok(parameter > 0 && named.test(sql), `${method}: ${sql}`);
    }
  }
});
