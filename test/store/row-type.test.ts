import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  boolean,
  json,
  nullableText,
  number,
  placeholders,
  RowType,
  text,
  WritableRowType,
} from '../../src/store/row-type.ts';

const SETTINGS = new WritableRowType({
  name: text('name'),
  homepageUrl: nullableText('homepage_url'),
  redirectUris: json<readonly string[]>('redirect_uris'),
  enabled: boolean('enabled'),
});

const THING = new RowType({
  id: number('id'),
  ...SETTINGS.fields,
});

const OBJECT = {
  id: 7,
  name: 'Photo Wall',
  homepageUrl: null,
  redirectUris: ['https://a.example/'],
  enabled: true,
};

describe('a row type', () => {
  test('lists its columns in one order', () => {
    assert.equal(THING.columns, 'id, name, homepage_url, redirect_uris, enabled');
  });

  test('reads a row by the names of its columns', () => {
    const row = {
      id: 7,
      name: 'Photo Wall',
      homepage_url: null,
      redirect_uris: '["https://a.example/"]',
      enabled: 1,
    };
    assert.deepEqual(THING.read({ ...row, other: 'ignored' }), OBJECT);
  });

  test('writes its columns; a nullable field that is left out becomes null', () => {
    const { name, redirectUris, enabled } = OBJECT;
    assert.deepEqual(SETTINGS.write({ name, redirectUris, enabled }), [
      'Photo Wall',
      null,
      '["https://a.example/"]',
      1,
    ]);
  });

  test('assigns the fields that are given, and null where null is given', () => {
    assert.deepEqual(SETTINGS.assign({ enabled: false, homepageUrl: null }, 3), {
      sql: ['homepage_url = $3', 'enabled = $4'],
      values: [null, 0],
    });
    assert.deepEqual(SETTINGS.assign({}, 3), { sql: [], values: [] });
  });

  test('numbers the parameters of a VALUES list', () => {
    assert.equal(placeholders(3), '$1, $2, $3');
    assert.equal(placeholders(2, 4), '$4, $5');
  });
});
