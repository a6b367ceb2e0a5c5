import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlApplications } from '../../src/store/applications.ts';
import type { Driver, Row, Value } from '../../src/store/drivers/driver.ts';

const row = (name: string): Row => ({
  client_id: 'app_x',
  owner_id: 'owner',
  name,
  redirect_uris: '[]',
  scope: 3,
  optional_scope: 0,
  created_at: 0,
  updated_at: 0,
  disabled_at: null,
});

/** A database that responds when the test calls `answer`. */
class SlowDriver implements Driver {
  readonly engine = 'postgres';
  readonly writeProbe = '';
  name = 'as it was';
  reads = 0;
  readonly waiting: (() => void)[] = [];
  tell: (subject?: string) => void = () => {};

  async read(sql: string, _values?: readonly Value[]): Promise<Row[]> {
    this.reads++;
    const rows = sql.includes('application_secrets') ? [] : [row(this.name)];
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return rows;
  }
  async write(): Promise<Row[]> {
    return [{ client_id: 'app_x' }];
  }
  async runBatched(): Promise<undefined> {}
  async transaction(): Promise<Row[][]> {
    return [[{ client_id: 'app_x' }]];
  }
  async migrate(): Promise<string[]> {
    return [];
  }
  notifyStatements(): [] {
    return [];
  }
  onExternalChange(listener: (subject?: string) => void): void {
    this.tell = listener;
  }
  async close(): Promise<void> {}

  answer(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

const found = async (driver: SlowDriver, applications: SqlApplications): Promise<string | undefined> => {
  const finding = applications.find('app_x');
  driver.answer();
  return (await finding)?.name;
};

test('an application is read once and then cached', async () => {
  const driver = new SlowDriver();
  const applications = new SqlApplications(driver);
  assert.equal(await found(driver, applications), 'as it was');
  const { reads } = driver;
  driver.name = 'changed behind its back';
  assert.equal(await found(driver, applications), 'as it was');
  assert.equal(driver.reads, reads);
});

for (const [who, change] of [
  ['this process', (applications: SqlApplications) => applications.setDisabled('app_x', true, 0)],
  ['another process', async (_: SqlApplications, driver: SlowDriver) => driver.tell()],
] as const) {
  test(`a read that started before a change by ${who} and ends after it is not cached`, async () => {
    const driver = new SlowDriver();
    const applications = new SqlApplications(driver);
    const finding = applications.find('app_x');
    driver.name = 'as it is now';
    await change(applications, driver);
    driver.answer();
    await finding;
    assert.equal(await found(driver, applications), 'as it is now');
  });
}

for (const [who, change] of [
  ['this process', (applications: SqlApplications) => applications.setDisabled('app_other', true, 0)],
  ['another process', async (_: SqlApplications, driver: SlowDriver) => driver.tell('application app_other')],
] as const) {
  test(`a change of one application by ${who} leaves the others in the cache`, async () => {
    const driver = new SlowDriver();
    const applications = new SqlApplications(driver);
    await found(driver, applications);
    const { reads } = driver;
    for (let n = 0; n < 100; n++) {
      await change(applications, driver);
      assert.equal((await found(driver, applications)) !== undefined, true);
    }
    assert.equal(driver.reads, reads);
  });
}

test('a full cache drops its oldest application, not all of them', async () => {
  const driver = new SlowDriver();
  const applications = new SqlApplications(driver);
  driver.read = async (sql, values = []) => {
    driver.reads++;
    return sql.includes('application_secrets') ? [] : values.map((id) => ({ ...row('one'), client_id: id }));
  };
  for (let n = 0; n <= 10_000; n++) await applications.find(`app_${n}`);
  const { reads } = driver;
  for (let n = 1; n <= 10_000; n++) await applications.find(`app_${n}`);
  assert.equal(driver.reads, reads);
  await applications.find('app_0');
  assert.ok(driver.reads > reads);
});

test('many applications are read in few statements, and are then cached', async () => {
  const driver = new SlowDriver();
  const applications = new SqlApplications(driver);
  driver.read = async (sql, values = []) => {
    driver.reads++;
    const ids = new Set(values.filter((id) => id !== 'app_3'));
    return sql.includes('application_secrets')
      ? []
      : [...ids].map((id) => ({ ...row('one'), client_id: id }));
  };
  const ids = Array.from({ length: 120 }, (_, n) => `app_${n}`);
  const result = await applications.findAll([...ids, ...ids, 'no id'.repeat(20)]);
  assert.deepEqual([result.size, result.has('app_3'), driver.reads], [119, false, 6]);
  await applications.findAll(ids.filter((id) => id !== 'app_3'));
  assert.equal(driver.reads, 6);
});

test('an unknown application is read again each time', async () => {
  const driver = new SlowDriver();
  const applications = new SqlApplications(driver);
  driver.read = async () => {
    driver.reads++;
    return [];
  };
  assert.equal(await applications.find('app_x'), undefined);
  const { reads } = driver;
  assert.equal(await applications.find('app_x'), undefined);
  assert.ok(driver.reads > reads);
});
