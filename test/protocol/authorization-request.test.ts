import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseAuthorizationQuery } from '../../src/protocol/authorization-request.ts';
import { parseScope } from '../../src/protocol/scope.ts';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const GOOD: Readonly<Record<string, string>> = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'https%3A%2F%2Fclient.example%2Fcb',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

/** A valid query of raw pairs with changes; undefined leaves a pair out. */
function parse(changes: Record<string, string | undefined> = {}, more = '') {
  const pairs = Object.entries({ ...GOOD, ...changes }).filter(([, value]) => value !== undefined);
  return parseAuthorizationQuery(pairs.map(([name, value]) => `${name}=${value}`).join('&') + more);
}

test('a valid request is read without an error', () => {
  assert.deepEqual(parse({ scope: 'email+profile', state: 'xyz' }), {
    clientId: 'app',
    redirectUri: 'https://client.example/cb',
    rawState: 'xyz',
    fault: undefined,
    codeChallenge: CHALLENGE,
    scope: parseScope('profile email'),
  });
});

describe('the challenge', () => {
  test('method defaults to S256 when absent or empty', () => {
    assert.equal(parse({ code_challenge_method: undefined }).fault?.error, undefined);
    assert.equal(parse({ code_challenge_method: '' }).fault?.error, undefined);
  });

  test('method must be S256', () => {
    for (const method of ['plain', 's256', 'S512', 'none', 'S256%20']) {
      assert.equal(parse({ code_challenge_method: method }).fault?.error, 'invalid_request', method);
    }
  });

  test('is required and has exactly 43 base64url characters', () => {
    for (const challenge of [
      undefined,
      '',
      'a',
      'a'.repeat(42),
      'a'.repeat(44),
      `${'a'.repeat(42)}%3D`,
      `${'a'.repeat(42)}+`,
      `${CHALLENGE}%0A`,
    ]) {
      assert.equal(parse({ code_challenge: challenge }).fault?.error, 'invalid_request', String(challenge));
    }
  });
});

describe('the response type', () => {
  test('missing is invalid_request', () => {
    assert.equal(parse({ response_type: undefined }).fault?.error, 'invalid_request');
    assert.equal(parse({ response_type: '' }).fault?.error, 'invalid_request');
  });

  test('other than code is unsupported_response_type', () => {
    for (const type of ['token', 'code%20token', 'CODE', 'id_token']) {
      assert.equal(parse({ response_type: type }).fault?.error, 'unsupported_response_type', type);
    }
  });
});

describe('the scope', () => {
  test('is undefined when absent or empty: the registered scope applies', () => {
    assert.equal(parse().scope, undefined);
    assert.equal(parse({ scope: '' }).scope, undefined);
    assert.equal(parse({ scope: '' }).fault?.error, undefined);
  });

  test('unknown is invalid_scope', () => {
    for (const scope of ['openid', 'profile+openid', 'PROFILE', '%20', 'profile%00']) {
      assert.equal(parse({ scope }).fault?.error, 'invalid_scope', scope);
    }
  });
});

describe('the state', () => {
  test('is kept exactly as it was sent', () => {
    for (const state of ['a%20b%2B+%FF', '%', '%zz', 'a=b', '%00%0d%0a', "!$'()*,;:@/?"]) {
      assert.equal(parse({ state }).rawState, state);
      assert.equal(parse({ state }).fault?.error, undefined, state);
    }
  });

  test('contains only characters that a header can contain', () => {
    assert.equal(parse({ state: 'a\xe9\r\n b\x7f' }).rawState, 'a%E9%0D%0A%20b%7F');
  });

  test('is not sent back when repeated', () => {
    const twice = parse({ state: 'a' }, '&state=b');
    assert.equal(twice.rawState, undefined);
    assert.equal(twice.fault?.error, 'invalid_request');
  });

  test('empty counts as absent', () => {
    assert.equal(parse({ state: '' }).rawState, undefined);
    assert.equal(parse().rawState, undefined);
  });
});

describe('repetition and broken encoding', () => {
  test('a repeated parameter is invalid_request, even if unknown or spelled differently', () => {
    for (const more of [
      `&code_challenge=${CHALLENGE}`,
      '&response_type=code',
      '&scope=email&scope=email',
      '&x=1&x=2',
      '&%72esponse_type=code',
    ]) {
      assert.equal(parse({}, more).fault?.error, 'invalid_request', more);
    }
  });

  test('a repeated client_id or redirect_uri counts as absent', () => {
    assert.equal(parse({}, '&client_id=app').clientId, undefined);
    assert.equal(parse({}, '&client_id=other').clientId, undefined);
    assert.equal(parse({}, '&redirect_uri=https%3A%2F%2Fclient.example%2Fcb').redirectUri, undefined);
    assert.equal(parse({}, '&redirect%5furi=x').redirectUri, undefined);
  });

  test('an undecodable client_id or redirect_uri counts as absent', () => {
    assert.equal(parse({ client_id: '%FF' }).clientId, undefined);
    assert.equal(parse({ redirect_uri: 'https://client.example/%E9' }).redirectUri, undefined);
  });

  test('broken encoding anywhere but in the state is invalid_request', () => {
    for (const more of ['&x=%FF', '&x=%', '&%FF=x', '&scope=%zz']) {
      assert.equal(parse({}, more).fault?.error, 'invalid_request', more);
    }
  });

  test('the redirect_uri is decoded exactly once', () => {
    assert.equal(
      parse({ redirect_uri: 'https%3A%2F%2Fc.example%2F%2541%3Fa%3D%2520' }).redirectUri,
      'https://c.example/%41?a=%20',
    );
  });
});

test('no query throws', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'client_id',
      'redirect_uri',
      'state',
      'scope',
      'code_challenge',
      '=',
      '&',
      '%',
      '%FF',
      '+',
      '__proto__',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const { rawState } = parseAuthorizationQuery(pieces.join(''));
      assert.match(rawState ?? '', /^[\x21-\x7e]*$/);
    }),
    { numRuns: 1000 },
  );
});
