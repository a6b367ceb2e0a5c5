import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePostgresUrl } from '../../src/postgres-url.ts';

test('a URL with one server stays as it is', () => {
  for (const url of [
    'postgres://localhost/postern',
    'postgresql://postern:p%40ss%2Cword@db.internal:5433/postern?sslmode=verify-full',
    'postgres://u@[::1]:5432/postern',
    'postgres:///postern',
  ])
    assert.deepEqual(parsePostgresUrl(url), { urls: [url], sessionKind: 'any' });
});

test('a URL with several servers is one URL for each, in order', () => {
  assert.deepEqual(
    parsePostgresUrl('postgres://u:p@a,b:5433,[::1]:5434/db?sslmode=require&target_session_attrs=read-write'),
    {
      urls: [
        'postgres://u:p@a/db?sslmode=require',
        'postgres://u:p@b:5433/db?sslmode=require',
        'postgres://u:p@[::1]:5434/db?sslmode=require',
      ],
      sessionKind: 'read-write',
    },
  );
});

test('what is no such URL is refused', () => {
  for (const url of [
    'mysql://localhost/x',
    'postgres://a,,b/db',
    'postgres://a:notaport/db',
    'postgres://a,b:notaport/db',
    'postgres://a/db?target_session_attrs=standby',
    'postgres://a/db?target_session_attrs=',
  ])
    assert.equal(parsePostgresUrl(url), undefined, url);
});
