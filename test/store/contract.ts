import { describe } from 'node:test';
import { applicationContract } from './contract/applications.ts';
import { codeContract } from './contract/codes.ts';
import { concurrencyContract } from './contract/concurrency.ts';
import { counterContract } from './contract/counters.ts';
import type { Opened } from './contract/fixtures.ts';
import { migrationContract } from './contract/migrations.ts';
import { revocationContract } from './contract/revocation.ts';
import { rotationContract } from './contract/rotation.ts';
import { schemaContract } from './contract/schema.ts';
import { sweepContract } from './contract/sweeping.ts';
import { userContract } from './contract/users.ts';

/** Everything that Postern expects of a database, for each engine. */
export function storeContract(engine: string, open: () => Promise<Opened>): void {
  describe(`${engine}: codes`, () => codeContract(open));
  describe(`${engine}: rotation`, () => rotationContract(open));
  describe(`${engine}: revocation and access`, () => revocationContract(open));
  describe(`${engine}: sweeping`, () => sweepContract(open));
  describe(`${engine}: applications`, () => applicationContract(open));
  describe(`${engine}: users and sessions`, () => userContract(open));
  describe(`${engine}: counters`, () => counterContract(open));
  describe(`${engine}: concurrency`, () => concurrencyContract(open));
  describe(`${engine}: migrations`, () => migrationContract(open));
  describe(`${engine}: schema and connection`, () => schemaContract(open));
}
