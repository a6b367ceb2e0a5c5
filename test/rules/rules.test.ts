import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importCircles, importsAgainstOrder, type Layer, unusedExports } from './import-rules.ts';
import { type RetiredWord, retiredWords, riddles, sectionsOf, unknownSections } from './language-rules.ts';
import { longFiles, longFunctions, MAX_FILE_LINES, MAX_FUNCTION_LINES } from './size-rules.ts';
import { readSources } from './sources.ts';
import { sharedState, sleeps, todos } from './test-rules.ts';

/** From low to high: a file imports from its own layer and from those above it in this list. */
const ORDER: readonly Layer[] = [
  { paths: ['src/batch.ts'], job: 'Collects work and passes it on once per event-loop turn.' },
  { paths: ['src/protocol/'], job: 'Pure OAuth: no SQL, no HTTP, and the clock is an argument.' },
  {
    paths: ['src/trace-config.ts', 'src/postgres-url.ts', 'src/config.ts'],
    job: 'Reads and checks every setting.',
  },
  { paths: ['src/passwords/'], job: 'Hashes passwords and judges new ones.' },
  { paths: ['src/store/'], job: 'Tables and transitions, the drivers below them.' },
  { paths: ['src/keys/'], job: 'Signing keys, the service secret and its fingerprint.' },
  { paths: ['src/mail/'], job: 'Sends mails.' },
  { paths: ['src/observability/'], job: 'Metrics and traces; loaded only when a setting asks for them.' },
  { paths: ['src/request-log/'], job: 'Requests, incidents and usage, for the developer.' },
  { paths: ['src/limits/'], job: 'Rate limits of clients.' },
  { paths: ['src/app.ts'], job: 'Everything that handlers work with, put together.' },
  { paths: ['src/pages/'], job: 'Pure functions from properties to HTML.' },
  { paths: ['src/http/'], job: 'Server, router, requests and responses; knows no endpoint.' },
  { paths: ['src/accounts/'], job: 'Sign-up, sign-in, sessions and the account page.' },
  { paths: ['src/oauth/'], job: 'The endpoints of the protocol.' },
  { paths: ['src/dashboard/'], job: 'Applications and what their developers see.' },
  { paths: ['src/routes.ts', 'src/sweeper.ts'], job: 'Every address; the removal of expired rows.' },
  { paths: ['src/cli/'], job: 'Commands; `serve` puts everything together.' },
];

/** Exports that only tests import, each with the reason. */
const EXPORTED_FOR_TESTS: Readonly<Record<string, string>> = {
  'src/cli/terminal-input.ts askPassword': 'Asks on a terminal; the test passes streams instead.',
  'src/dashboard/failure-explanations.ts FAILURE_REASONS': 'The test meets every reason once.',
  'src/protocol/key-schedule.ts MAX_PENDING_MS': 'A bound that the test approaches from both sides.',
  'src/store/citus.ts PLACEMENTS': 'Compared with the schema and with docs/scale.md.',
  'src/store/citus.ts distribution': 'The statements run against stand-ins for the functions of Citus.',
};

/** Folders of test/ that are not named after a folder of src/. */
const SUITES: Readonly<Record<string, string>> = {
  browser: 'The pages in Chromium.',
  clients: 'OAuth client libraries against a running Postern.',
  deploy: 'Dockerfile, compose file and systemd unit.',
  docs: 'Commands, code and links of the documentation.',
  examples: 'The demo and its example application.',
  flows: 'Several endpoints in one story: model, races, crashes, thieves, a failing database.',
  postgres: 'Needs a PostgreSQL server: drivers, several nodes, faults (npm run test:postgres).',
  rules: 'These rules.',
  support: 'Shared by tests of several folders; contains no tests.',
};

/** Files that may use a timer. */
const TIMERS: Readonly<Record<string, string>> = {
  'test/support/eventually.ts': 'polls a condition up to a deadline',
  'test/support/postern-process.ts': 'kills a process at its deadline',
  'test/support/postgres-server.ts': 'gives up waiting for a killed server at a deadline',
};

const RETIRED: readonly RetiredWord[] = [
  { word: 'told', instead: 'reported, explanation, or name who learns it' },
  { word: 'cure', instead: 'fix' },
  { word: 'verdict', instead: 'diagnosis' },
  { word: 'cut', instead: 'revoke a grant, close a connection, shorten a text' },
  { word: 'cuts', instead: 'revokes, closes, shortens' },
  { word: 'seal', instead: 'sign' },
  { word: 'seals', instead: 'signs' },
  { word: 'sealed', instead: 'signed' },
  { word: 'sealer', instead: 'signer' },
  { word: 'sealing', instead: 'signing' },
  { word: 'deed', instead: 'action' },
  { word: 'patience', instead: 'timeout' },
  { word: 'demand', instead: 'validate' },
  { word: 'together', instead: 'batch', inNamesOnly: true },
  { word: 'answer', instead: 'response', inNamesOnly: true },
  { word: 'answers', instead: 'responses', inNamesOnly: true },
  { word: 'answered', instead: 'response', inNamesOnly: true },
  { word: 'facts', instead: 'details', inNamesOnly: true },
  { word: 'proven', instead: 'authenticated or verified', inNamesOnly: true },
  { word: 'longest', instead: 'max', inNamesOnly: true },
  { word: 'most', instead: 'max', inNamesOnly: true },
];

const ROOT = join(import.meta.dirname, '../..');
const folders = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

const all = readSources(ROOT);
const under = (...prefixes: string[]) =>
  all.filter(({ path }) => prefixes.some((prefix) => path.startsWith(prefix)));
const src = under('src/');
const tests = under('test/');

const none = (findings: readonly string[]): void => assert.deepEqual(findings, []);

describe('imports', () => {
  test('run in one direction', () => none(importsAgainstOrder(src, ORDER)));

  test('form no circle, types included', () => none(importCircles(src)));

  test('use every export', () => {
    const unused = (users: typeof all) => unusedExports(src, users);
    none(unused(all));
    assert.deepEqual(
      unused(under('src/', 'bench/', 'examples/')).sort(),
      Object.keys(EXPORTED_FOR_TESTS).sort(),
    );
  });

  test('use every export of the tests, too', () => none(unusedExports(tests, under('test/', 'bench/'))));
});

describe('sizes', () => {
  test(`no file has more than ${MAX_FILE_LINES} lines`, () => none(longFiles(src)));
  test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => none(longFunctions(src)));
});

describe('language', () => {
  test('comments cite sections that docs/protocol.md has', () => {
    const sections = sectionsOf(readFileSync(join(ROOT, 'docs/protocol.md'), 'utf8'));
    none(unknownSections(all, sections));
  });

  test('comments start with a noun or a verb', () => none(riddles(all)));

  test('names and comments use the words of the glossary', () => none(retiredWords(src, RETIRED)));
});

describe('tests', () => {
  test('are in the folder of the part that they test', () => {
    const expected = [...folders('src'), ...Object.keys(SUITES)].sort();
    none(folders('test').filter((name) => !expected.includes(name)));
    for (const name of folders('src')) {
      const found = globSync(`test/${name}/**/*.test.ts`, { cwd: ROOT });
      assert.ok(found.length > 0, `test/${name} has no tests`);
    }
    assert.deepEqual(globSync('test/support/**/*.test.ts', { cwd: ROOT }), []);
    assert.deepEqual(globSync('test/*.ts', { cwd: ROOT }), []);
  });

  test('do not sleep', () => none(sleeps(tests, TIMERS)));

  test('do not change what other tests see', () => none(sharedState(tests)));

  test('are finished', () => none(todos(tests)));

  test('run in a random order', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const [name, command] of Object.entries<string>(scripts))
      for (const run of command.split('&&').filter((part) => part.includes('node --test')))
        assert.match(run, /--test-randomize/, name);
  });
});
