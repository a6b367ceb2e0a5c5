import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decode, param, parseBody, parseForm } from '../../src/protocol/parameters.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

const form = (body: string | Buffer) => parseBody(FORM, Buffer.from(body as string));
const json = (body: string | Buffer) => parseBody(JSON_TYPE, Buffer.from(body as string));
const plain = ({ values }: ReturnType<typeof parseBody>): Record<string, string> =>
  Object.fromEntries(values);

describe('a form body', () => {
  test('gives its parameters, decoded', () => {
    const { values, fault } = form('a=1&b=x+y%20z&%63=%C3%A9&d=%2B%26%3D&e=k=v&ü=ö');
    assert.equal(fault, undefined);
    assert.deepEqual(
      [...values],
      [
        ['a', '1'],
        ['b', 'x y z'],
        ['c', 'é'],
        ['d', '+&='],
        ['e', 'k=v'],
        ['ü', 'ö'],
      ],
    );
  });

  test('may have empty pairs, names without a value and nothing at all', () => {
    assert.deepEqual(plain(form('&&a=1&&b&c=&')), { a: '1', b: '', c: '' });
    assert.deepEqual(form('').values.size, 0);
    assert.equal(form('').fault, undefined);
  });

  test('with a repeated parameter is invalid, however it is spelled', () => {
    for (const body of ['a=1&a=1', 'a=1&a=2', 'a=1&%61=2', 'a=&a=', 'a&a=1', 'a=1&b=2&c=3&b=4', '=1&=2']) {
      assert.equal(form(body).fault, 'repeated', body);
    }
    assert.equal(form('a=1&a=2').values.get('a'), '1');
  });

  test('with broken percent-encoding or UTF-8 is invalid', () => {
    for (const body of [
      'a=%',
      'a=%4',
      'a=%zz',
      'a=%FF',
      'a=%C3',
      'a=%ED%A0%80',
      'a=%C0%80',
      '%FF=a',
      'b=1&a=%E2%82',
    ]) {
      assert.equal(form(body).fault, 'encoding', body);
    }
    assert.equal(form(Buffer.from([0x61, 0x3d, 0xff])).fault, 'encoding');
    assert.equal(form(Buffer.from([0x61, 0x3d, 0xc3])).fault, 'encoding');
  });

  test('that is invalid still yields the readable parameters, so that the client is counted', () => {
    assert.equal(form('client_id=app&scope=%FF').values.get('client_id'), 'app');
    assert.equal(form('scope=%FF&client_id=app').values.get('client_id'), 'app');
    assert.equal(form('client_id=app&a=1&a=2').values.get('client_id'), 'app');
    const raw = form(Buffer.concat([Buffer.from('client_id=app&scope='), Buffer.from([0xff])]));
    assert.equal(raw.fault, 'encoding');
    assert.equal(raw.values.get('client_id'), 'app');
  });

  test('may use the names of Object.prototype', () => {
    const { values, fault } = form('__proto__=a&constructor=b&toString=c&hasOwnProperty=d');
    assert.equal(fault, undefined);
    assert.equal(values.get('__proto__'), 'a');
    assert.equal(values.get('constructor'), 'b');
    assert.equal(form('').values.get('constructor'), undefined);
  });

  test('round-trips anything from a correct encoder', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((text) => text.isWellFormed());
    const value = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.dictionary(name, value, { noNullPrototype: true }), (sent) => {
        const { values, fault } = form(new URLSearchParams(sent).toString());
        assert.equal(fault, undefined);
        assert.deepEqual(new Map(values), new Map(Object.entries(sent)));
      }),
    );
  });
});

describe('a JSON body', () => {
  test('is an object of strings', () => {
    assert.deepEqual(json('{"a":"1","b":"x \\"y\\" \\u00e9"}'), {
      values: new Map([
        ['a', '1'],
        ['b', 'x "y" é'],
      ]),
    });
    assert.deepEqual(json(' {\n} '), { values: new Map() });
  });

  test('that is not an object is invalid', () => {
    for (const body of [
      '',
      ' ',
      'a=b',
      '[]',
      '["a"]',
      '"a"',
      '1',
      'null',
      'true',
      '{',
      '{"a":"b"',
      '{a:"b"}',
      "{'a':'b'}",
      '{"a":"b",}',
      '{"a":"b"}x',
      '\ufeff{}',
    ]) {
      assert.equal(json(body).fault, 'json', body);
    }
  });

  test('with a value that is not a string is invalid', () => {
    for (const value of ['1', '1.5', 'true', 'false', 'null', '[]', '["x"]', '{}', '{"x":"y"}']) {
      assert.equal(json(`{"a":${value}}`).fault, 'not_a_string', value);
      assert.equal(json(`{"client_id":"app","a":${value}}`).values.get('client_id'), 'app', value);
    }
  });

  test('with a repeated name is invalid, however it is spelled', () => {
    for (const body of [
      '{"a":"1","a":"1"}',
      '{"a":"1","a":"2"}',
      '{"a":"1","\\u0061":"2"}',
      '{"a":"1","b":"\\"","a":"2"}',
      '{"__proto__":"1","__proto__":"2"}',
      '{"a":"1","b":"2","c":"3","b":"4"}',
    ]) {
      assert.equal(json(body).fault, 'repeated', body);
    }
  });

  test('with a repeated name is invalid even if one value is not a string', () => {
    for (const body of ['{"a":1,"a":"2"}', '{"a":{},"a":"2"}', '{"a":["x"],"a":"2"}', '{"a":"2","a":null}']) {
      assert.notEqual(json(body).fault, undefined, body);
    }
  });

  test('with a lone surrogate is invalid', () => {
    assert.equal(json('{"a":"\\ud800"}').fault, 'encoding');
    assert.equal(json('{"a":"\\udc00x"}').fault, 'encoding');
    assert.equal(json('{"a":"\\ud83d\\ude00"}').fault, undefined);
  });

  test('that is not UTF-8 is invalid', () => {
    assert.equal(json(Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])).fault, 'encoding');
  });

  test('may use the names of Object.prototype', () => {
    const { values, fault } = json('{"__proto__":"a","constructor":"b"}');
    assert.equal(fault, undefined);
    assert.equal(values.get('__proto__'), 'a');
    assert.equal(values.get('constructor'), 'b');
    assert.equal(({} as Record<string, unknown>).a, undefined);
  });

  test('round-trips anything from JSON.stringify', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(
        fc.dictionary(text, text, { noNullPrototype: true }),
        fc.constantFrom(undefined, 2, '\t'),
        (sent, indent) => {
          const { values, fault } = json(JSON.stringify(sent, null, indent));
          assert.equal(fault, undefined);
          assert.deepEqual(new Map(values), new Map(Object.entries(sent)));
        },
      ),
    );
  });
});

describe('the content type', () => {
  test('is case-insensitive, and its parameters are ignored', () => {
    for (const type of [
      FORM,
      'Application/X-WWW-Form-URLencoded',
      `${FORM};charset=UTF-8`,
      `${FORM} ; charset="utf-8"`,
    ]) {
      assert.deepEqual(plain(parseBody(type, Buffer.from('a=b'))), { a: 'b' }, type);
    }
    assert.deepEqual(plain(parseBody('APPLICATION/JSON; charset=utf-8', Buffer.from('{"a":"b"}'))), {
      a: 'b',
    });
  });

  test('other than these two is invalid', () => {
    for (const type of [
      undefined,
      '',
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/json+x',
      'application',
      ';',
      `x${FORM}`,
      `${FORM}, text/plain`,
    ]) {
      assert.equal(parseBody(type, Buffer.from('a=b')).fault, 'content_type', String(type));
    }
  });

  test('is optional without a body', () => {
    assert.deepEqual(parseBody(undefined, Buffer.alloc(0)), { values: new Map() });
    assert.equal(parseBody('text/plain', Buffer.alloc(0)).fault, 'content_type');
  });
});

test('no bytes throw', () => {
  const type = fc.constantFrom(FORM, JSON_TYPE, undefined, 'text/plain');
  fc.assert(
    fc.property(type, fc.uint8Array({ maxLength: 200 }), (contentType, bytes) => {
      const { values } = parseBody(contentType, Buffer.from(bytes));
      for (const [name, value] of values) assert.ok(name.isWellFormed() && value.isWellFormed());
    }),
    { numRuns: 1000 },
  );
});

test('decoding: plus is a space, the rest percent-encoded UTF-8, anything else undefined', () => {
  assert.equal(decode('a+b%20c%2B'), 'a b c+');
  assert.equal(decode(''), '');
  assert.equal(decode('%00'), '\0');
  for (const broken of ['%', '%a', '%gg', '%80', '%F5%80%80%80', 'x%E0%80'])
    assert.equal(decode(broken), undefined, broken);
});

test('an empty parameter counts as absent', () => {
  const { values } = parseForm('a=&b=0&c');
  assert.equal(param(values, 'a'), undefined);
  assert.equal(param(values, 'b'), '0');
  assert.equal(param(values, 'c'), undefined);
  assert.equal(param(values, 'd'), undefined);
});
