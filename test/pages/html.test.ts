import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as module from '../../src/pages/html.ts';
import { type Html, html } from '../../src/pages/html.ts';

const SCRIPT = '<script>alert("1" & \'2\')</script>';
const ESCAPED = '&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;';

test('every text put into a template is escaped, at any depth', () => {
  assert.equal(html`<p>${SCRIPT}</p>`.text, `<p>${ESCAPED}</p>`);
  assert.equal(html`${[[SCRIPT, 1], html`<b>${SCRIPT}</b>`]}`.text, `${ESCAPED}1<b>${ESCAPED}</b>`);
});

test('false, null and undefined render as nothing, 0 and the empty string as themselves', () => {
  assert.equal(html`[${false}${null}${undefined}${0}${''}]`.text, '[0]');
});

test('nothing but the html tag makes Html', () => {
  // @ts-expect-error An object of the same shape is not Html.
  const forged: Html = { text: SCRIPT };
  assert.throws(() => html`${forged}`, TypeError);
  // @ts-expect-error A string is not Html.
  const string: Html = SCRIPT;
  assert.equal(html`${string}`.text, ESCAPED);
  // The class itself is not exported.
  assert.deepEqual(Object.keys(module), ['html']);
});
