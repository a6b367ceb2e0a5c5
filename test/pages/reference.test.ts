import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiDocument, Operation } from '../../src/protocol/openapi-document.ts';
import { type Reply, Service } from '../support/service.ts';

let service: Service;
let page: Reply;
let document: ApiDocument;
before(async () => {
  service = await Service.start();
  page = await service.get('/docs');
  document = (await service.get('/openapi.json')).body as unknown as ApiDocument;
});
after(() => service.stop());

const shown = (text: string): boolean =>
  page.text.includes(
    text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;').replaceAll('<', '&lt;'),
  );

test('the reference has the headers of every page, and nothing external or inline', async () => {
  assert.equal(page.status, 200);
  const login = await service.get('/login');
  assert.equal(page.headers.get('content-security-policy'), login.headers.get('content-security-policy'));
  assert.doesNotMatch(page.text, /<style|style=|<script>|javascript:|\son\w+=/i);
  for (const [, address] of page.text.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(address!, /^[/#]/);
});

test('the reference shows every endpoint, parameter, field, header, status and example of the document', () => {
  const missing = new Set<string>();
  const expect = (text: string) => shown(text) || missing.add(text);
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item) as [string, Operation][]) {
      expect(`${method.toUpperCase()} ${path}`);
      expect(operation.description);
      for (const { name, description } of operation.parameters ?? []) [name, description].map(expect);
      for (const [status, { description, headers = {}, content = {} }] of Object.entries(
        operation.responses,
      )) {
        for (const text of [status, description, ...Object.keys(headers)]) expect(text);
        const examples = [...Object.values(headers), ...Object.values(content)].flatMap((one) =>
          Object.values(one.examples ?? {}),
        );
        for (const { summary, value } of examples) {
          expect(summary);
          expect(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
        }
      }
    }
  }
  const { Error: _error, ...schemas } = document.components.schemas;
  for (const { properties = {} } of Object.values(schemas)) Object.keys(properties).map(expect);
  assert.deepEqual([...missing], []);
});
