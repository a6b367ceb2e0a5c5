import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PROFILE_FIELDS } from '../../src/protocol/profile.ts';
import { scopeNames } from '../../src/protocol/scope.ts';

const protocol = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');

/** The rows of the table of claims, each with its scope, which the document writes in the first row of a scope. */
function documentedClaims(): string[] {
  const table = protocol.split('| Scope | Claim | Type | Value |')[1]!.split('\n\n')[0]!;
  let scope = '';
  return [...table.matchAll(/^\| (.*?) ?\| `(\w+)` \| (\w+) \|/gm)].map(([, first, claim, type]) => {
    if (first) scope = first.replaceAll('`', '');
    return `${scope} ${claim} ${type}`;
  });
}

test('docs/protocol.md lists every claim with its scope and type', () => {
  assert.deepEqual(
    documentedClaims(),
    PROFILE_FIELDS.map(({ scope = 'any', claim, type }) => `${scope} ${claim} ${type}`),
  );
});

test('docs/protocol.md names every scope', () => {
  const list = new Intl.ListFormat('en-GB').format(scopeNames().map((name) => `\`${name}\``));
  assert.ok(protocol.includes(`The scopes are ${list}.`), `The scopes are ${list}.`);
});
