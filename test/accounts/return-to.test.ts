import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hiddenFields, PASSWORD, Service, Visitor } from '../support/service.ts';

let service: Service;
let visitor: Visitor;
before(async () => {
  service = await Service.start();
  visitor = await service.signedIn();
});
after(() => service.stop());

const good = [
  '/',
  '/account',
  '/oauth/authorize?a=b&state=%FF+%20',
  '/a/../b',
  '/%2f%2fevil.example',
  '/:x@y',
  '/.//evil.example',
];

const evil = [
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  'https://evil.example',
  'https:evil.example',
  'HTTPS://evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'evil.example',
  '@evil.example',
  '.evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\nSet-Cookie: a=b',
  '\t//evil.example',
  ' //evil.example',
  '/ /evil.example',
  '/\0/evil.example',
  '/\u2028/evil.example',
  '/é',
  '／／evil.example',
  '',
];

const loginPath = (returnTo: string): string => `/login?return_to=${encodeURIComponent(returnTo)}`;

/** A browser must stay on this service, however it parses the text. */
function assertHere(location: string | null): void {
  assert.equal(new URL(location ?? '//none', 'https://id.example/login').origin, 'https://id.example');
}

describe('signing in returns', () => {
  for (const path of good) {
    test(`to ${path}`, async () => {
      const fresh = new Visitor(service, visitor.user);
      const page = await fresh.get(loginPath(path));
      assert.equal(hiddenFields(page.text).return_to, path);
      const fields = { ...hiddenFields(page.text), email: visitor.user.email, password: PASSWORD };
      const response = await fresh.post('/login', fields);
      assert.equal(response.headers.get('location'), path);
      assertHere(path);
    });
  }
});

describe('return_to is no open redirect', () => {
  for (const text of evil) {
    test(JSON.stringify(text), async () => {
      const signedIn = await visitor.get(loginPath(text));
      assert.equal(signedIn.status, 303);
      assert.equal(signedIn.headers.get('location'), '/');

      const fresh = new Visitor(service, visitor.user);
      const fields = hiddenFields((await fresh.get(loginPath(text))).text);
      assert.equal(fields.return_to, '/');
      const refused = await fresh.post('/login', { return_to: text });
      assert.equal(refused.status, 403);
      assert.equal(hiddenFields(refused.text).return_to, '/');
    });
  }

  test('when it is posted with the form', async () => {
    for (const text of evil.slice(0, 8)) {
      const fresh = new Visitor(service, visitor.user);
      const fields = hiddenFields((await fresh.get('/login')).text);
      const { email, password } = visitor.user;
      const response = await fresh.post('/login', { ...fields, return_to: text, email, password });
      assert.equal(response.status, 303);
      assert.equal(response.headers.get('location'), '/');
    }
  });

  test('when it is posted to sign out', async () => {
    const leaving = new Visitor(service, visitor.user);
    const { form_token } = hiddenFields((await leaving.get('/login')).text);
    for (const text of evil) {
      const response = await leaving.post('/logout', { form_token: form_token!, return_to: text });
      assert.equal(response.status, 303);
      assert.equal(response.headers.get('location'), '/', JSON.stringify(text));
    }
    const response = await leaving.post('/logout', { form_token: form_token!, return_to: '/account' });
    assert.equal(response.headers.get('location'), '/account');
  });

  test('and its text is escaped', async () => {
    const page = await service.get(loginPath('/"><script>alert(1)</script>'));
    assert.doesNotMatch(page.text, /<script>/);
    assert.equal(hiddenFields(page.text).return_to, '/"><script>alert(1)</script>'.replaceAll('>', '&gt;'));
  });
});
