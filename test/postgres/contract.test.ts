import { after, before } from 'node:test';
import { openStore } from '../../src/store/store.ts';
import { storeContract } from '../store/contract.ts';
import { dropDatabase } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';

let server: TestPostgres;
before(async () => {
  server = await TestPostgres.start();
});
after(() => server.stop());

storeContract('postgres', async () => {
  const url = await server.createDatabase();
  const store = openStore(url);
  const others: { close(): Promise<void> }[] = [];
  return {
    store,
    url,
    another: async (options) => {
      const other = openStore(url, options);
      others.push(other);
      return other;
    },
    close: async () => {
      await store.close();
      await Promise.all(others.map((other) => other.close()));
      await dropDatabase(url);
    },
  };
});
