import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlApplications } from '../../src/store/applications.ts';
import type { Driver, Row } from '../../src/store/drivers/driver.ts';

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
  readonly notifyStatements = [];
  name = 'as it was';
  reads = 0;
  readonly waiting: (() => void)[] = [];
  tell: () => void = () => {};

  async read(sql: string): Promise<Row[]> {
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
  onExternalChange(listener: () => void): void {
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
